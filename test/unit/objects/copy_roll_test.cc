#include "provisioner/objects/copy_roll.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/objects/heartbeat_record.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

ToldCopy sample_told(const std::string& copy = kCopy) {
  engine::VolumeSpec volume = sample_spec();
  volume.cluster_id.clear();
  volume.copy = copy;
  return {
      .volume = volume, .claim_uid = kUid, .claim_name = "data", .ready = true, .retained = false};
}

CopyRoll sample_roll() {
  return {.host = "00112233445566778899aabbccddeeff",
          .term = 12,
          .orders = digest_of({kCopy, "b", "c"}),
          .told = {sample_told()},
          .cut = false};
}

std::string copy_id(std::size_t number) {
  const std::string digits = concat(number);
  return std::string(16 - digits.size(), '0') + digits;
}

CopyRoll roll_of(std::size_t told) {
  CopyRoll roll = sample_roll();
  roll.told.clear();
  for (std::size_t i = 0; i < told; ++i) roll.told.push_back(sample_told(copy_id(i)));
  return roll;
}

CopyRoll read(const CopyRoll& roll) {
  auto parsed = parse_roll(roll_text(roll));
  REQUIRE(parsed);
  return *parsed;
}

kube::Lease lease_with(const NodeReport& report) {
  kube::Lease lease;
  lease.name = heartbeat_name(kNode);
  write_heartbeat({kNode, "u-1", kNode}, report, Clock::Wall(std::chrono::seconds(1)), lease);
  return lease;
}

NodeHeartbeat decoded(const kube::Lease& lease) {
  const auto document = JsonDocument::parse(encode_lease(lease));
  REQUIRE(document);
  auto beat = decode_heartbeat(document->root());
  REQUIRE(beat);
  return *beat;
}

}  // namespace

TEST_CASE("a roll is read as it was written") {
  CopyRoll roll = sample_roll();
  CHECK(read(roll) == roll);
  ToldCopy other = sample_told("fedcba9876543210");
  other.claim_uid.clear();
  other.claim_name.clear();
  other.ready = false;
  other.retained = true;
  other.volume.backend = engine::Backend::kThin;
  other.volume.fs_type = engine::FsType::kExt4;
  other.volume.on_delete = engine::OnDelete::kZero;
  other.volume.size = kMostBytes;
  roll.told.push_back(other);
  roll.cut = true;
  roll.term = 0;
  roll.counted = {kCopy, copy_id(7)};
  CHECK(read(roll) == roll);
  roll.told.clear();
  roll.orders = digest_of({});
  CHECK(read(roll) == roll);
}

TEST_CASE("a digest is the same for the same names in any order, and for no others") {
  CHECK(digest_of({"a", "b", "c"}) == digest_of({"c", "a", "b"}));
  CHECK(digest_of({"a", "b"}) != digest_of({"a", "c"}));
  CHECK(digest_of({"a", "b"}) != digest_of({"a"}));
  CHECK(digest_of({"a", "a"}) != digest_of({"a"}));
  CHECK(digest_of({"ab"}) != digest_of({"a", "b"}));
  CHECK(digest_of({kCopy}).size() == 32);
}

TEST_CASE("what has no room in a roll is cut, and that is said") {
  const CopyRoll all = roll_of(100);
  CHECK(read(all) == all);
  const CopyRoll many = roll_of(1000);
  const std::string text = roll_text(many);
  CHECK(text.size() <= kMostRollText);
  // Most of the room is used.
  CHECK(text.size() > kMostRollText - 2048);
  const CopyRoll cut = read(many);
  CHECK(cut.cut);
  CHECK(cut.orders == many.orders);
  REQUIRE(cut.told.size() < 1000);
  REQUIRE(cut.told.size() > 100);
  CHECK(std::equal(cut.told.begin(), cut.told.end(), many.told.begin()));
}

TEST_CASE("what is counted takes no room of what is told, and the latest of it are named") {
  CopyRoll many = roll_of(100);
  for (std::size_t i = 0; i <= kMostCounted; ++i) many.counted.push_back(copy_id(i));
  CHECK(read(many).told == many.told);
  CHECK(read(many).counted.size() == kMostCounted);
  CHECK(read(many).counted.front() == copy_id(1));
  many.told = roll_of(1000).told;
  CopyRoll without = many;
  without.counted.clear();
  CHECK(read(many) == read(without));
  // As many as have room.
  many.told = roll_of(read(without).told.size() - 1).told;
  CHECK(roll_text(many).size() <= kMostRollText);
  CHECK_FALSE(read(many).cut);
  CHECK(read(many).counted.size() > 0);
  CHECK(read(many).counted.back() == many.counted.back());
}

TEST_CASE("an id that makes no sense is left out of what is counted") {
  CopyRoll roll = sample_roll();
  roll.counted = {copy_id(7), "x", kCopy};
  CHECK(read(roll).counted == std::vector<std::string>{copy_id(7), kCopy});
  CHECK(
      parse_roll(with(roll_text(roll), R"("counted":[)", R"("counted":[7,{},)"))->counted.size() ==
      2);
}

TEST_CASE("a text that no agent wrote is no roll") {
  const std::string good = roll_text(sample_roll());
  struct Row {
    std::string from, to;
  };
  const std::vector<Row> rows = {{R"("host":"0011)", R"("host":"..11)"},
                                 {R"("host":"0011)", R"("host":"11)"},
                                 {R"("term":12)", R"("term":-1)"},
                                 {R"("term":12)", R"("term":"12")"},
                                 {R"("term":12)", R"("term":92233720368547758070)"},
                                 {R"("term":12,)", ""},
                                 {R"("orders":")", R"("orders":"x)"},
                                 {R"("claim":"data")", R"("claim":"../data")"},
                                 {R"("volume":"pvc-)", R"("volume":"../pvc-)"},
                                 {R"("copy":"0123456789abcdef")", R"("copy":"0123456789ABCDEF")"},
                                 {R"("namespace":"shop")", R"("namespace":"shop/../bank")"},
                                 {R"("pool":"default")", R"("pool":"")"},
                                 {R"("backend":"lvm")", R"("backend":"zfs")"},
                                 {R"("fsType":"xfs")", R"("fsType":7)"},
                                 {R"("size":"1073741824")", R"("size":"-1")"},
                                 {R"("size":"1073741824")", R"("size":"99999999999999999999")"},
                                 {R"("size":"1073741824")", R"("size":1073741824)"},
                                 {R"("onDelete":"discard")", R"("onDelete":"shred")"},
                                 {concat(R"("claimUID":")", kUid), R"("claimUID":"somebody)"},
                                 {R"("told":[{)", R"("told":[[],{)"},
                                 {R"("told":[{)", R"("told":[{"deeper":{"and":[]},)"}};
  for (const Row& row : rows) {
    INFO(row.to);
    CHECK(parse_roll(with(good, row.from, row.to)).ok() == false);
  }
  for (const std::string& text : {std::string(), std::string("[]"), std::string("7"), good + good,
                                  good.substr(0, good.size() - 1), std::string(1000, '[')})
    CHECK_FALSE(parse_roll(text).ok());
}

TEST_CASE("a roll that is longer than any that is written is none") {
  const std::string good = roll_text(sample_roll());
  const std::string padding(kMostRollText - good.size(), ' ');
  CHECK(parse_roll(good + padding).ok());
  const auto longer = parse_roll(good + padding + ' ');
  REQUIRE_FALSE(longer.ok());
  CHECK(longer.error().code() == ErrorCode::kInvalid);
}

TEST_CASE("a roll that does not say that it is whole is taken for cut") {
  const auto roll = parse_roll(with(roll_text(sample_roll()), R"("cut":false,)", ""));
  REQUIRE(roll);
  CHECK(roll->cut);
}

TEST_CASE("a beat tells the roll of a daemon that carries out orders, and no other does") {
  NodeReport report;
  report.pools["default"]["lvm"] = {kGiB, kGiB};
  CHECK_FALSE(decoded(lease_with(report)).report.roll);
  report.roll = sample_roll();
  kube::Lease lease = lease_with(report);
  CHECK(decoded(lease).report.roll == sample_roll());
  // A daemon that decides for its own node from now on.
  report.roll.reset();
  write_heartbeat({kNode, "u-1", kNode}, report, Clock::Wall(std::chrono::seconds(2)), lease);
  CHECK_FALSE(decoded(lease).report.roll);
}

TEST_CASE("a beat whose roll makes no sense says all else, and carries out no orders") {
  NodeReport report;
  report.pools["default"]["lvm"] = {kGiB, kGiB};
  report.roll = sample_roll();
  kube::Lease lease = lease_with(report);
  lease.annotations.at("flexlocal.io/copies") = "{}";
  const NodeHeartbeat beat = decoded(lease);
  CHECK_FALSE(beat.report.roll);
  CHECK(beat.report.trouble.empty());
  CHECK(beat.report.pools.at("default").at("lvm").free == kGiB);
}

}  // namespace flexlocal::provisioner::test
