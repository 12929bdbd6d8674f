#include "provisioner/agent/host_copy.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::RecordState;

engine::Ownership tags_of(const engine::VolumeSpec& spec) {
  return {.copy = spec.copy,
          .cluster_id = spec.cluster_id,
          .claim_uid = spec.name.claim_uid(),
          .claim_namespace = spec.claim_namespace,
          .pool = spec.pool,
          .size = spec.size,
          .ready = true,
          .attempt = {}};
}

// One volume's order, and a look at disks on which its group and its pool's file system are seen.
struct Host {
  CopyOrder order = sample_order();
  const std::string name = order.volume.name.text();
  engine::NodeConfig config;
  engine::Inventory seen{
      {}, {}, {{"group:vg", kGiB, kGiB, kMiB, {}}, {"quota:default", kGiB, kGiB, kMiB, {}}}, {}};
  bool hopeless = false;

  Host() {
    config.pools["default"].volume_group = "vg";
    config.pools["default"].quota_path = "/srv";
  }
  HostCopy copy() const { return host_copy(seen, config, order, hopeless); }
  bool in_doubt() const { return is_in_doubt(order, copy(), seen); }

  engine::Record& add_record(RecordState state, const engine::VolumeSpec& spec) {
    engine::Record record = engine::promised_record(spec, spec.name.claim_uid());
    record.state = state;
    return seen.records.insert_or_assign(spec.name.text(), record).first->second;
  }
  engine::Record& add_record(RecordState state) { return add_record(state, order.volume); }
  // Of another volume, by an order of that term.
  engine::Record& add_other(std::int64_t term) {
    engine::Record& other = add_record(RecordState::kReady, sample_spec(kOtherUid));
    other.order.term = term;
    return other;
  }
  engine::LogicalVolume& add_lv() {
    seen.volumes.push_back({.group = "vg",
                            .name = name,
                            .uuid = "uuid",
                            .device_uuid = "LVM-uuid",
                            .size = kGiB,
                            .thin_pool = {},
                            .ownership = tags_of(order.volume)});
    return seen.volumes.back();
  }
  engine::OwnedFolder& add_folder() {
    seen.folders.push_back({name, "default", tags_of(order.volume), kGiB, false});
    return seen.folders.back();
  }
};

}  // namespace

TEST_CASE("each state of a record is a stage of the copy") {
  for (const auto& [state, stage] : {std::pair(RecordState::kRefused, RecordStage::kRefused),
                                     std::pair(RecordState::kPromised, RecordStage::kPromised),
                                     std::pair(RecordState::kIntent, RecordStage::kMaking),
                                     std::pair(RecordState::kNew, RecordStage::kMaking),
                                     std::pair(RecordState::kReady, RecordStage::kReady),
                                     std::pair(RecordState::kWiping, RecordStage::kWiping)}) {
    Host host;
    host.add_record(state);
    CHECK(host.copy().record == stage);
  }
  Host host;
  CHECK(host.copy().record == RecordStage::kNone);
  host.add_other(1);
  CHECK(host.copy().record == RecordStage::kNone);
}

TEST_CASE("what the record says of order and pods is known") {
  Host host;
  engine::Record& record = host.add_record(RecordState::kReady);
  record.order = {kOtherUid, 4, 7};
  record.spec.copy = "fedcba9876543210";
  record.spec.claim_namespace = "bank";
  record.spec.access_mode = engine::AccessMode::kReadWriteOncePod;
  record.claim_uid = kOtherUid;
  record.retained = true;
  const HostCopy copy = host.copy();
  CHECK(copy.record_copy == "fedcba9876543210");
  CHECK(copy.order_uid == kOtherUid);
  CHECK(copy.order_generation == 4);
  CHECK(copy.order_term == 7);
  CHECK(copy.claim_uid == kOtherUid);
  CHECK(copy.claim_namespace == "bank");
  CHECK(copy.access_mode == engine::AccessMode::kReadWriteOncePod);
  CHECK(copy.retained);
}

TEST_CASE("a record that cannot be read is damaged, whatever else is known") {
  Host host;
  host.add_record(RecordState::kReady);
  host.seen.damaged.emplace(host.name, "cut short");
  CHECK(host.copy().record == RecordStage::kDamaged);
}

TEST_CASE("tags say how far a logical volume is, and whose copy") {
  Host host;
  CHECK(host.copy().disk == DiskStage::kNone);
  engine::LogicalVolume& volume = host.add_lv();
  volume.size = kMiB;
  CHECK(host.copy().disk == DiskStage::kReady);
  CHECK(host.copy().disk_copy == kCopy);
  CHECK(host.copy().size == kMiB);
  CHECK_FALSE(host.copy().open);
  volume.open = true;
  CHECK(host.copy().open);
  volume.ownership->ready = false;
  CHECK(host.copy().disk == DiskStage::kMaking);
  volume.ownership->ready = true;
  volume.ownership->wiping = true;
  CHECK(host.copy().disk == DiskStage::kWiping);
  volume.ownership->copy = "fedcba9876543210";
  CHECK(host.copy().disk_copy == "fedcba9876543210");
}

TEST_CASE("a stranger's volume, and another cluster's, is foreign") {
  Host host;
  engine::LogicalVolume& volume = host.add_lv();
  volume.ownership->cluster_id = kOtherUid;
  CHECK(host.copy().disk == DiskStage::kForeign);
  CHECK(host.copy().disk_copy.empty());
  volume.ownership.reset();
  CHECK(host.copy().disk == DiskStage::kForeign);
  host.seen.volumes.clear();
  host.add_folder().owner.cluster_id = kOtherUid;
  CHECK(host.copy().disk == DiskStage::kForeign);
}

TEST_CASE("a folder that stands at its place is ready, with its limit as its size") {
  Host host;
  host.order.volume.backend = engine::Backend::kQuota;
  engine::OwnedFolder& folder = host.add_folder();
  folder.owner.ready = false;
  folder.limit = kMiB;
  folder.open = true;
  const HostCopy copy = host.copy();
  CHECK(copy.disk == DiskStage::kReady);
  CHECK(copy.disk_copy == kCopy);
  CHECK(copy.size == kMiB);
  CHECK(copy.open);
}

TEST_CASE("that a copy is kept is said by its record or by its tags") {
  Host host;
  host.add_record(RecordState::kReady);
  host.add_lv();
  CHECK_FALSE(host.copy().retained);
  CHECK_FALSE(host.copy().partly_retained);
  host.seen.volumes.front().ownership->retained = true;
  CHECK(host.copy().retained);
  CHECK(host.copy().partly_retained);
  host.seen.records.begin()->second.retained = true;
  CHECK(host.copy().retained);
  CHECK_FALSE(host.copy().partly_retained);
  host.seen.volumes.front().ownership->retained = false;
  CHECK(host.copy().retained);
  CHECK(host.copy().partly_retained);
}

TEST_CASE("two things of the volume's name are for a person") {
  Host host;
  host.add_record(RecordState::kReady);
  host.add_lv();
  SUBCASE("two logical volumes") { host.add_lv().group = "other"; }
  SUBCASE("a logical volume and a folder") { host.add_folder(); }
  CHECK(host.copy().record == RecordStage::kDamaged);
}

TEST_CASE("of a group whose metadata are older than its volumes nothing is seen") {
  Host host;
  host.seen.outdated.emplace("vg", "put back");
  CHECK(host.copy().disk == DiskStage::kUnseen);
  host.add_lv();
  CHECK(host.copy().disk == DiskStage::kUnseen);
  host.seen.volumes.front().open = true;
  CHECK(host.copy().open);
}

TEST_CASE("what the pool's volumes lie on must be seen before none is there") {
  Host host;
  host.seen.spaces.erase(host.seen.spaces.begin());
  CHECK(host.copy().disk == DiskStage::kUnseen);
  host.order.volume.backend = engine::Backend::kQuota;
  CHECK(host.copy().disk == DiskStage::kNone);
  // A volume that is found needs no further proof.
  host.order.volume.backend = engine::Backend::kLvm;
  host.add_lv();
  CHECK(host.copy().disk == DiskStage::kReady);
}

TEST_CASE("a pool that node.conf does not name has nothing that was never promised") {
  Host host;
  host.order.volume.pool = "fast";
  CHECK(host.copy().disk == DiskStage::kNone);
  host.order.origin = Origin::kExisting;
  CHECK(host.copy().disk == DiskStage::kUnseen);
  host.order.origin = Origin::kNew;
  host.add_record(RecordState::kPromised);
  CHECK(host.copy().disk == DiskStage::kUnseen);
}

TEST_CASE("only a promise of which nothing was made can be without hope") {
  for (const RecordState state :
       {RecordState::kRefused, RecordState::kPromised, RecordState::kIntent, RecordState::kNew,
        RecordState::kReady, RecordState::kWiping}) {
    Host host;
    host.add_record(state);
    CHECK_FALSE(host.copy().hopeless);
    host.hopeless = true;
    CHECK(host.copy().hopeless == (state == RecordState::kPromised));
  }
}

TEST_CASE("a file system that has not grown yet is behind") {
  Host host;
  CHECK_FALSE(host.copy().behind);
  host.seen.behind.insert(host.name);
  CHECK(host.copy().behind);
}

TEST_CASE("an order of an earlier term than its own record's is in doubt, also one to remove") {
  for (const DesiredState desired :
       {DesiredState::kServing, DesiredState::kRetained, DesiredState::kRemoved}) {
    Host host;
    host.order.desired = desired;
    host.order.term = 7;
    engine::Record& record = host.add_record(RecordState::kReady);
    record.order.term = 7;
    CHECK_FALSE(host.in_doubt());
    record.order.term = 8;
    CHECK(host.in_doubt());
    record.order.term = 6;
    CHECK_FALSE(host.in_doubt());
    // Its own record is the younger witness.
    host.add_other(9);
    CHECK_FALSE(host.in_doubt());
  }
}

TEST_CASE("an order of what has no record here is in doubt by any later one that was followed") {
  Host host;
  host.order.term = 7;
  CHECK_FALSE(host.in_doubt());
  host.add_other(7);
  CHECK_FALSE(host.in_doubt());
  host.add_other(8);
  CHECK(host.in_doubt());
  // A record of another copy is none of this one's.
  host.add_record(RecordState::kReady).spec.copy = "fedcba9876543210";
  CHECK(host.in_doubt());
}

TEST_CASE("the removal of what is not here is never in doubt, that of what tags know is") {
  Host host;
  host.order.term = 7;
  host.order.desired = DesiredState::kRemoved;
  host.add_other(8);
  CHECK_FALSE(host.in_doubt());
  engine::LogicalVolume& volume = host.add_lv();
  CHECK(host.in_doubt());
  volume.ownership->copy = "fedcba9876543210";
  CHECK_FALSE(host.in_doubt());
  volume.ownership->copy = kCopy;
  volume.ownership->cluster_id = kOtherUid;
  CHECK_FALSE(host.in_doubt());
}

TEST_CASE("another cluster's leaders say nothing of this one's terms") {
  Host host;
  host.order.term = 1;
  host.add_other(50).spec.cluster_id = kOtherUid;
  CHECK_FALSE(host.in_doubt());
  CHECK(highest_term(host.seen, kCluster) == 0);
  CHECK(highest_term(host.seen, kOtherUid) == 50);
}

TEST_CASE("the record is to keep of an order what it says, and which one it is") {
  CopyOrder order = sample_order();
  order.term = 7;
  order.desired = DesiredState::kRetained;
  const VolumeCopy copy{.name = copy_name(order),
                        .uid = kOtherUid,
                        .resource_version = "1",
                        .generation = 3,
                        .order = order,
                        .status = {}};
  const engine::OrderedCopy ordered = ordered_copy(copy, order);
  CHECK(ordered.spec == order.volume);
  CHECK(ordered.claim_uid == kUid);
  CHECK(ordered.retained);
  CHECK(ordered.order == engine::FollowedOrder{kOtherUid, 3, 7, "data"});
  order.desired = DesiredState::kServing;
  CHECK_FALSE(ordered_copy(copy, order).retained);
}

}  // namespace flexlocal::provisioner::test
