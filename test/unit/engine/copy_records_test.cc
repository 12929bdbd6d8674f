#include "flexvolume/engine/volume/copy_records.h"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <optional>
#include <vector>

#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

constexpr std::array kAllStates = {RecordState::kRefused, RecordState::kPromised,
                                   RecordState::kIntent,  RecordState::kNew,
                                   RecordState::kReady,   RecordState::kWiping};

const std::string kClaim = example_spec().name.claim_uid();
const std::string kOtherClaim = "0b1c2d3e-0000-4000-8000-00000000000b";
const FollowedOrder kFirst{"22222222-2222-4333-8444-555555555555", 1, 7};
const FollowedOrder kNext{"33333333-2222-4333-8444-555555555555", 2, 9};

// The same volume in the eyes of one who looks at its name alone.
std::vector<VolumeSpec> strangers() {
  VolumeSpec copy = example_spec();
  copy.copy = "ffffffffffffffff";
  VolumeSpec of_namespace = example_spec();
  of_namespace.claim_namespace = "bank";
  VolumeSpec cluster = example_spec();
  cluster.cluster_id = kOtherClaim;
  return {copy, of_namespace, cluster};
}

struct Fixture {
  TemporaryFolder temporary;
  RecordStore records{temporary.path("records")};
  CopyRecords copies{records, temporary.path("locks")};
  OrderedCopy ordered{.spec = example_spec(), .claim_uid = kClaim, .order = kFirst};

  // A record in that state, by the first order.
  void keep(RecordState state) {
    const bool made = !is_unmade(state);
    Record record{.spec = example_spec(),
                  .state = state,
                  .attempt = made ? "ab" : "",
                  .device_uuid = made ? "LVM-x" : "",
                  .volume_group = made ? "data" : "",
                  .claim_uid = kClaim,
                  .order = kFirst};
    REQUIRE(records.save(record));
  }
  std::optional<Record> record() const {
    const auto loaded = records.load(example_spec().name);
    REQUIRE(loaded);
    return *loaded;
  }
  // As its file says it; empty: there is none.
  std::string text() const {
    const auto known = record();
    return known ? to_json(*known) : std::string();
  }
};

template <typename T>
ErrorCode code_of(const T& result) {
  REQUIRE_FALSE(result);
  return result.error().code();
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a promise keeps all that is ordered") {
  ordered.spec.limits.read_iops = 7;
  ordered.spec.mount_options = {"noatime"};
  ordered.retained = true;
  const auto promised = copies.promise(ordered);
  REQUIRE(promised);
  CHECK(to_json(*promised) == text());
  CHECK(record()->state == RecordState::kPromised);
  CHECK(record()->spec == ordered.spec);
  CHECK(record()->claim_uid == kClaim);
  CHECK(record()->order == kFirst);
  CHECK(record()->retained);
}

TEST_CASE_FIXTURE(Fixture,
                  "a promise may be repeated, by a later generation of its object as well") {
  REQUIRE(copies.promise(ordered));
  const std::string first = text();
  REQUIRE(copies.promise(ordered));
  CHECK(text() == first);
  ordered.order.generation = 2;
  REQUIRE(copies.promise(ordered));
  CHECK(record()->order.generation == 2);
}

TEST_CASE_FIXTURE(Fixture, "nothing is promised over any other record") {
  for (const RecordState state : kAllStates) {
    keep(state);
    const std::string before = text();
    if (state != RecordState::kPromised)
      CHECK(code_of(copies.promise(ordered)) == ErrorCode::kConflict);
    OrderedCopy other = ordered;
    for (const VolumeSpec& spec : strangers()) {
      other.spec = spec;
      CHECK(code_of(copies.promise(other)) == ErrorCode::kConflict);
    }
    other = ordered;
    other.spec.size = kGiB;
    CHECK(code_of(copies.promise(other)) == ErrorCode::kConflict);
    other = ordered;
    other.order.uid = kNext.uid;
    CHECK(code_of(copies.promise(other)) == ErrorCode::kConflict);
    CHECK(text() == before);
  }
}

TEST_CASE_FIXTURE(Fixture, "a record that cannot be read is written over by nobody") {
  REQUIRE(copies.promise(ordered));
  const std::string path = concat(temporary.path("records"), '/', ordered.spec.name.text());
  REQUIRE(write_file_atomically(path, "cut", 0600));
  CHECK(code_of(copies.promise(ordered)) == ErrorCode::kCorrupt);
  CHECK(code_of(copies.follow(ordered)) == ErrorCode::kCorrupt);
  CHECK(code_of(copies.refuse(ordered.spec)) == ErrorCode::kCorrupt);
  CHECK(code_of(copies.withdraw(ordered.spec)) == ErrorCode::kCorrupt);
  CHECK(*read_file(path, Bytes(64)) == "cut");
}

TEST_CASE_FIXTURE(Fixture, "a record follows what may change of an order, and keeps the rest") {
  for (const RecordState state :
       {RecordState::kPromised, RecordState::kIntent, RecordState::kNew, RecordState::kReady}) {
    keep(state);
    OrderedCopy next{.spec = example_spec(), .claim_uid = kOtherClaim, .order = kNext};
    next.spec.access_mode = AccessMode::kReadWriteOncePod;
    next.spec.limits.write_iops = 9;
    next.spec.mount_options = {"noatime"};
    next.spec.size = kGiB;
    next.spec.pool = "fast";
    next.retained = true;
    Record expected = *record();
    const auto followed = copies.follow(next);
    REQUIRE(followed);
    CHECK(to_json(*followed) == text());
    expected.spec.access_mode = AccessMode::kReadWriteOncePod;
    expected.spec.limits.write_iops = 9;
    expected.spec.mount_options = {"noatime"};
    expected.claim_uid = kOtherClaim;
    expected.order = kNext;
    // Of what is made tags have to say it, too.
    expected.retained = state == RecordState::kPromised;
    CHECK(text() == to_json(expected));
    REQUIRE(copies.follow(next));
    CHECK(text() == to_json(expected));
  }
}

TEST_CASE_FIXTURE(Fixture, "the record of a device follows no order of a folder's") {
  keep(RecordState::kReady);
  const std::string before = text();
  ordered.spec.backend = Backend::kQuota;
  CHECK(code_of(copies.follow(ordered)) == ErrorCode::kDenied);
  CHECK(text() == before);
  ordered.spec.backend = Backend::kThin;
  CHECK(copies.follow(ordered));
}

TEST_CASE_FIXTURE(Fixture, "a copy may be for no claim, and no longer kept") {
  ordered.retained = true;
  REQUIRE(copies.promise(ordered));
  ordered.retained = false;
  ordered.claim_uid.clear();
  REQUIRE(copies.follow(ordered));
  CHECK_FALSE(record()->retained);
  CHECK(record()->claim_uid.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a record is brought to no order where it is none of the copy's, or at its end") {
  CHECK(code_of(copies.follow(ordered)) == ErrorCode::kNotFound);
  CHECK(text().empty());
  for (const RecordState state : kAllStates) {
    keep(state);
    const std::string before = text();
    for (const VolumeSpec& spec : strangers())
      CHECK(code_of(copies.follow({.spec = spec, .claim_uid = kClaim, .order = kNext})) ==
            ErrorCode::kDenied);
    if (state == RecordState::kRefused || state == RecordState::kWiping)
      CHECK(code_of(copies.follow(ordered)) == ErrorCode::kConflict);
    CHECK(text() == before);
  }
}

TEST_CASE_FIXTURE(Fixture, "only a promise of which nothing was made is refused") {
  CHECK(code_of(copies.refuse(ordered.spec)) == ErrorCode::kNotFound);
  for (const RecordState state : kAllStates) {
    keep(state);
    const std::string before = text();
    for (const VolumeSpec& spec : strangers())
      CHECK(code_of(copies.refuse(spec)) == ErrorCode::kDenied);
    CHECK(text() == before);
    const auto refused = copies.refuse(ordered.spec);
    CHECK(refused.ok() == is_unmade(state));
    if (!refused) CHECK(refused.error().code() == ErrorCode::kConflict);
    if (!refused) CHECK(text() == before);
    if (refused) CHECK(to_json(*refused) == text());
    if (refused) CHECK(record()->state == RecordState::kRefused);
    CHECK(record()->order == kFirst);
  }
}

TEST_CASE_FIXTURE(Fixture, "only what was never made is withdrawn, and its lock goes with it") {
  CHECK(copies.withdraw(ordered.spec));
  for (const RecordState state : kAllStates) {
    keep(state);
    const std::string before = text();
    for (const VolumeSpec& spec : strangers())
      CHECK(code_of(copies.withdraw(spec)) == ErrorCode::kDenied);
    CHECK(text() == before);
    if (!is_unmade(state)) {
      CHECK(code_of(copies.withdraw(ordered.spec)) == ErrorCode::kConflict);
      CHECK(text() == before);
      continue;
    }
    CHECK(copies.withdraw(ordered.spec));
    CHECK(text().empty());
    CHECK(std::filesystem::is_empty(temporary.path("locks")));
    CHECK(copies.withdraw(ordered.spec));
  }
}

}  // namespace flexlocal::engine
