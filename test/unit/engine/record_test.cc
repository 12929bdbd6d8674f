#include "flexvolume/engine/volume/record.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

Record whole_record() {
  VolumeSpec spec = example_spec();
  spec.backend = Backend::kThin;
  spec.fs_type = FsType::kExt4;
  spec.on_delete = OnDelete::kZero;
  spec.limits = {1, 2, Bytes(3), Bytes(4), true};
  spec.mount_options = {"noatime", "discard"};
  spec.access_mode = AccessMode::kReadWriteOncePod;
  return {.spec = spec,
          .state = RecordState::kNew,
          .attempt = "ab",
          .device_uuid = "LVM-x",
          .volume_group = "data",
          .grow_file_system = true,
          .wiped = Bytes(5),
          .retained = true,
          .claim_uid = spec.name.claim_uid()};
}

TEST_CASE("records read back as they were written; damaged ones are told") {
  const Record record = whole_record();
  const std::string json = to_json(record);
  const auto back = parse_record(json);
  REQUIRE(back.ok());
  CHECK(to_json(*back) == json);
  CHECK(back->spec == record.spec);
  CHECK(back->claim_uid == record.claim_uid);
  CHECK(back->retained);
  CHECK_FALSE(parse_record(to_json(promised_record(example_spec(), "")))->retained);
  // Ready, and on no group.
  const Record nowhere{.spec = shared_spec("fast", kGiB), .state = RecordState::kReady};
  CHECK(parse_record(to_json(nowhere)).error().code() == ErrorCode::kCorrupt);
  for (std::size_t cut = 0; cut + 2 < json.size(); ++cut)
    CHECK_MESSAGE(parse_record(json.substr(0, cut)).error().code() == ErrorCode::kCorrupt, cut);
  CHECK_FALSE(parse_record(R"({"version":1})").ok());
  CHECK_FALSE(parse_record(R"({"version":3})").ok());
}

TEST_CASE("a record that says something impossible, or not enough, is damaged") {
  const std::string json = to_json(whole_record());
  const auto damaged = [&](const std::string& from, const std::string& to) {
    const std::size_t at = json.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    std::string text = json;
    text.replace(at, from.size(), to);
    const auto record = parse_record(text);
    CHECK_MESSAGE(!record.ok(), text);
    return !record && record.error().code() == ErrorCode::kCorrupt;
  };
  const std::string claim = example_spec().name.claim_uid();
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("copy":"c0c1c2c3c4c5c6c7")", R"("copy":"c0c1")"},
           {R"("copy":"c0c1c2c3c4c5c6c7",)", ""},
           {R"("claimNamespace":"shop")", R"("claimNamespace":"../x")"},
           {R"("pool":"default")", R"("pool":"")"},
           {R"("size":"536870912")", R"("size":"0")"},
           {R"("backend":"thin")", R"("backend":"zfs")"},
           {R"("fsType":"ext4")", R"("fsType":"vfat")"},
           {R"("onDelete":"zero")", R"("onDelete":"")"},
           {R"("accessMode":"ReadWriteOncePod")", R"("accessMode":"ReadWriteMany")"},
           {R"("accessMode":"ReadWriteOncePod",)", ""},
           {R"("claimUID":")" + claim, R"("claimUID":"x)"},
           {R"("readIOPS":"1")", R"("readIOPS":"-1")"},
           {R"("ioLimits":"required")", R"("ioLimits":"perhaps")"},
           {R"(["noatime","discard"])", R"(["noatime","suid"])"},
           {R"(["noatime","discard"])", R"("noatime")"},
           {R"("wiped":"5")", R"("wiped":"5x")"},
           {R"("state":"new")", R"("state":"newer")"},
           {R"("deviceUUID":"LVM-x")", R"("deviceUUID":"/dev/sda")"},
           {R"("volumeGroup":"data")", R"("volumeGroup":"-x")"}})
    CHECK(damaged(from, to));
}

TEST_CASE("a record keeps which order it follows, or that it follows none") {
  Record record = whole_record();
  CHECK(to_json(record).find("order") == std::string::npos);
  CHECK(parse_record(to_json(record))->order == FollowedOrder());
  for (const FollowedOrder& order :
       {FollowedOrder{"22222222-2222-4333-8444-555555555555", 3, 7},
        FollowedOrder{"22222222-2222-4333-8444-555555555555", 0, 0},
        FollowedOrder{"22222222-2222-4333-8444-555555555555", INT64_MAX, INT64_MAX}}) {
    record.order = order;
    const auto back = parse_record(to_json(record));
    REQUIRE(back.ok());
    CHECK(back->order == order);
    CHECK(to_json(*back) == to_json(record));
  }
}

TEST_CASE("a record keeps the name of the claim that it was ordered for") {
  Record record = whole_record();
  record.order = {"22222222-2222-4333-8444-555555555555", 3, 7, "data-0.of.mine"};
  const std::string json = to_json(record);
  const auto parsed = parse_record(json);
  REQUIRE(parsed);
  CHECK(parsed->order == record.order);
  std::string damaged = json;
  damaged.replace(damaged.find("data-0"), 6, "../../");
  CHECK_FALSE(parse_record(damaged).ok());
}

TEST_CASE("a record whose order says something impossible, or not enough, is damaged") {
  Record record = whole_record();
  record.order = {"22222222-2222-4333-8444-555555555555", 3, 7};
  const std::string json = to_json(record);
  const std::string order =
      R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":3,)"
      R"("term":7})";
  const std::size_t at = json.find(order);
  REQUIRE(at != std::string::npos);
  for (const char* damaged :
       {R"("order":{})", R"("order":"3")", R"("order":null)", R"("order":[3,7])",
        R"("order":{"uid":"x","generation":3,"term":7})", R"("order":{"generation":3,"term":7})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","term":7})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":3})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":-3,"term":7})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":3,"term":-7})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":"3","term":7})",
        R"("order":{"uid":"22222222-2222-4333-8444-555555555555","generation":3,"term":7.5})"}) {
    std::string text = json;
    text.replace(at, order.size(), damaged);
    const auto parsed = parse_record(text);
    CHECK_MESSAGE(!parsed.ok(), text);
    if (!parsed) CHECK(parsed.error().code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE("a refused record is one of which nothing was made") {
  Record record = promised_record(example_spec(), "");
  record.state = RecordState::kRefused;
  const auto back = parse_record(to_json(record));
  REQUIRE(back.ok());
  CHECK(back->state == RecordState::kRefused);
  CHECK(is_unmade(RecordState::kRefused));
  CHECK(is_unmade(RecordState::kPromised));
  for (const RecordState state :
       {RecordState::kIntent, RecordState::kNew, RecordState::kReady, RecordState::kWiping})
    CHECK_FALSE(is_unmade(state));
}

}  // namespace
}  // namespace flexlocal::engine
