#include "test/unit/agent/copy_plan_case.h"

#include <array>

#include "flexvolume/base/text.h"
#include "test/unit/objects/said_of_copies.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr std::array kRecords = {
    RecordStage::kNone,  RecordStage::kDamaged, RecordStage::kPromised, RecordStage::kMaking,
    RecordStage::kReady, RecordStage::kWiping,  RecordStage::kRefused};
constexpr std::array kDisks = {DiskStage::kUnseen, DiskStage::kNone,  DiskStage::kForeign,
                               DiskStage::kMaking, DiskStage::kReady, DiskStage::kWiping};
constexpr std::array kDesired = {DesiredState::kServing, DesiredState::kRetained,
                                 DesiredState::kRemoved, DesiredState::kWithdrawn};
constexpr std::array kOrigins = {Origin::kNew, Origin::kExisting, Origin::kReceived};

constexpr std::array kFollowed = {Followed::kThisOrder, Followed::kEarlierOrder,
                                  Followed::kLaterOrder, Followed::kAnotherObject};

}  // namespace

VolumeCopy sample_copy() {
  CopyOrder order(sample_spec().name);
  order.volume = sample_spec();
  order.volume.claim_namespace = kShop;
  order.volume.cluster_id = kSelf.cluster_id;
  order.node_uid = kSelf.node_uid;
  order.claim_uid = "claim";
  order.volume.copy = kThis;
  order.node = kNode;
  return VolumeCopy{.name = "copy",
                    .uid = kObject,
                    .resource_version = "7",
                    .generation = 5,
                    .deleting = false,
                    .order = order,
                    .status = {}};
}

std::string PlanCase::text() const {
  return concat(
      "desired ", static_cast<int>(order().desired), " origin ", static_cast<int>(order().origin),
      " state ", static_cast<int>(copy.status.state), " promised ", copy.status.promised ? 1 : 0,
      " made ", copy.status.made ? 1 : 0, " fresh ", fresh ? 1 : 0, " doubt ", in_doubt ? 1 : 0,
      " record ", static_cast<int>(host.record), " of ", host.record_copy, " by ", host.order_uid,
      '/', host.order_generation, " of ", host.claim_namespace, " retained ", host.retained ? 1 : 0,
      " disk ", static_cast<int>(host.disk), " of ", host.disk_copy, " open ", host.open ? 1 : 0,
      " size ", order().volume.size.count(), " hopeless ", host.hopeless ? 1 : 0);
}

void for_each_host(PlanCase& one, const std::function<void(const PlanCase&)>& visit) {
  for (const RecordStage record : kRecords)
    for (const std::string* const record_copy : {&kThis, &kThat})
      for (const Followed from : kFollowed)
        for (const DiskStage disk : kDisks)
          for (const std::string* const disk_copy : {&kThis, &kThat})
            for (unsigned bits = 0; bits < 32; ++bits) {
              // What is not there is of no copy.
              const bool ours = disk >= DiskStage::kMaking;
              if (!ours && disk_copy == &kThat) continue;
              if (record == RecordStage::kNone &&
                  (record_copy == &kThat || from != Followed::kThisOrder))
                continue;
              one.has(record, *record_copy);
              one.follows(from);
              one.has_disk(disk, *disk_copy);
              one.host.retained = (bits & 1U) != 0;
              one.host.open = (bits & 2U) != 0;
              one.order().volume.size = (bits & 4U) != 0 ? Bytes(2 * kGiB.count()) : kGiB;
              one.host.hopeless = (bits & 4U) != 0;
              one.host.used = (bits & 16U) != 0;
              one.copy.status.used = (bits & 8U) != 0 && one.copy.status.made;
              if ((bits & 8U) != 0)
                one.lets_mount(from == Followed::kThisOrder      ? Differs::kNamespace
                               : from == Followed::kEarlierOrder ? Differs::kClaim
                               : (bits & 4U) != 0                ? Differs::kMode
                                                                 : Differs::kClosed);
              visit(one);
            }
}

void for_each_order(const std::function<void(PlanCase&)>& visit) {
  PlanCase one;
  for (const DesiredState desired : kDesired)
    for (const Origin origin : kOrigins)
      for (const Said& said : kSaid)
        for (const auto& [fresh, in_doubt] :
             {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
          one.order().desired = desired;
          one.order().origin = origin;
          one.copy.status.state = said.state;
          one.copy.status.promised = said.promised;
          one.copy.status.made = said.made;
          one.fresh = fresh;
          one.in_doubt = in_doubt;
          visit(one);
        }
}

}  // namespace flexlocal::provisioner::test
