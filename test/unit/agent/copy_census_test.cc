#include "provisioner/agent/copy_census.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kHost = "00112233445566778899aabbccddeeff";
const std::string kOtherCopy = "fedcba9876543210";

engine::Record record_of(const engine::VolumeSpec& spec, engine::RecordState state) {
  engine::Record record = engine::promised_record(spec, spec.name.claim_uid());
  record.state = state;
  return record;
}

engine::Ownership tags_of(const engine::VolumeSpec& spec, bool ready) {
  engine::Ownership tags;
  tags.copy = spec.copy;
  tags.cluster_id = spec.cluster_id;
  tags.claim_uid = spec.name.claim_uid();
  tags.claim_namespace = spec.claim_namespace;
  tags.pool = spec.pool;
  tags.size = spec.size;
  tags.ready = ready;
  return tags;
}

engine::VolumeSpec other_spec() {
  engine::VolumeSpec spec = sample_spec(kOtherUid);
  spec.copy = kOtherCopy;
  return spec;
}

struct Fixture {
  engine::Inventory seen;
  bool ordered = false;

  void has_record(const engine::VolumeSpec& spec,
                  engine::RecordState state = engine::RecordState::kReady) {
    seen.records.insert_or_assign(spec.name.text(), record_of(spec, state));
  }
  void has_disk(const engine::VolumeSpec& spec, bool ready = true) {
    engine::LogicalVolume volume;
    volume.group = "vg";
    volume.name = spec.name.text();
    volume.ownership = tags_of(spec, ready);
    seen.volumes.push_back(volume);
  }
  std::vector<ToldCopy> census() const {
    return unordered_copies(seen, kCluster, [this](const engine::VolumeSpec&) { return ordered; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a host that has nothing tells nothing") { CHECK(census().empty()); }

TEST_CASE_FIXTURE(Fixture, "a copy is told once, by its record, its tags or both") {
  has_record(sample_spec());
  has_disk(sample_spec());
  has_disk(other_spec());
  const auto told = census();
  REQUIRE(told.size() == 2);
  CHECK(told.front().volume.copy == kCopy);
  CHECK(told.back().volume.copy == kOtherCopy);
}

TEST_CASE_FIXTURE(Fixture, "only what no order names is told") {
  has_record(sample_spec());
  has_record(other_spec());
  CHECK(census().size() == 2);
  ordered = true;
  CHECK(census().empty());
  const auto told = unordered_copies(
      seen, kCluster, [](const engine::VolumeSpec& spec) { return spec.copy == kCopy; });
  REQUIRE(told.size() == 1);
  CHECK(told.front().volume == other_spec());
  CHECK(told.front().claim_uid == kOtherUid);
}

TEST_CASE_FIXTURE(Fixture, "by its record a copy is told with the claim that it was ordered for") {
  has_record(sample_spec());
  CHECK(census().front().claim_name.empty());
  seen.records.begin()->second.order.claim_name = "data";
  CHECK(census().front().claim_name == "data");
}

TEST_CASE_FIXTURE(Fixture, "two copies of one volume are two: one by its record, one by its tags") {
  engine::VolumeSpec later = sample_spec();
  later.copy = kOtherCopy;
  has_record(sample_spec());
  has_disk(later);
  CHECK(census().size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "what is another cluster's, a pool's or a stranger's is not told") {
  engine::VolumeSpec theirs = sample_spec();
  theirs.cluster_id = kOtherUid;
  has_record(theirs);
  has_disk(theirs);
  engine::LogicalVolume stranger;
  stranger.name = "data";
  seen.volumes.push_back(stranger);
  has_disk(other_spec());
  seen.volumes.back().ownership->shared = true;
  CHECK(census().empty());
}

TEST_CASE_FIXTURE(Fixture, "a promise that was given up is none, and every other record is one") {
  for (const auto& [state, count] :
       {std::pair(engine::RecordState::kRefused, 0U), std::pair(engine::RecordState::kPromised, 1U),
        std::pair(engine::RecordState::kIntent, 1U), std::pair(engine::RecordState::kNew, 1U),
        std::pair(engine::RecordState::kReady, 1U), std::pair(engine::RecordState::kWiping, 1U)}) {
    has_record(sample_spec(), state);
    CHECK(census().size() == count);
  }
}

TEST_CASE_FIXTURE(Fixture, "a copy may hold data if its record or its tags say so") {
  has_record(sample_spec(), engine::RecordState::kPromised);
  CHECK_FALSE(census().front().ready);
  has_disk(sample_spec(), false);
  CHECK_FALSE(census().front().ready);
  seen.volumes.front().ownership->ready = true;
  CHECK(census().front().ready);
  has_record(sample_spec());
  seen.volumes.clear();
  CHECK(census().front().ready);
}

TEST_CASE_FIXTURE(Fixture, "a copy is retained if its record or its tags say so") {
  has_record(sample_spec());
  has_disk(sample_spec());
  CHECK_FALSE(census().front().retained);
  seen.volumes.front().ownership->retained = true;
  CHECK(census().front().retained);
  seen.volumes.clear();
  seen.records.begin()->second.retained = true;
  CHECK(census().front().retained);
}

TEST_CASE_FIXTURE(Fixture, "what tags alone know is told without a claim that may mount it") {
  has_disk(sample_spec());
  seen.volumes.front().thin_pool = "pool";
  const auto told = census();
  REQUIRE(told.size() == 1);
  CHECK(told.front().claim_uid.empty());
  CHECK(told.front().volume.name == sample_spec().name);
  CHECK(told.front().volume.backend == engine::Backend::kThin);
}

TEST_CASE_FIXTURE(Fixture, "a quota folder is a copy as well") {
  engine::OwnedFolder folder;
  folder.name = sample_spec().name.text();
  folder.owner = tags_of(sample_spec(), true);
  seen.folders.push_back(folder);
  const auto told = census();
  REQUIRE(told.size() == 1);
  CHECK(told.front().volume.backend == engine::Backend::kQuota);
}

TEST_CASE_FIXTURE(Fixture, "what is told can be written into a roll and read") {
  has_record(sample_spec());
  seen.records.begin()->second.order.claim_name = "data";
  has_disk(other_spec());
  const CopyRoll roll{.host = kHost, .orders = digest_of({}), .told = census()};
  const auto read = parse_roll(roll_text(roll));
  REQUIRE(read);
  REQUIRE(read->told.size() == 2);
  CHECK(read->told.front().claim_name == "data");
  CHECK(read->told.back().volume.copy == kOtherCopy);
}

}  // namespace flexlocal::provisioner::test
