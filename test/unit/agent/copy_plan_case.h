// Every situation that an agent may decide in about a copy: an order, what was answered of it, and
// what the host has.
#pragma once

#include <functional>
#include <string>

#include "provisioner/agent/copy_plan.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

// Short, for they are compared millions of times; what they look like is no matter of the plan's.
inline const std::string kThis = "this";
inline const std::string kThat = "that";
inline const std::string kObject = "object";
inline const std::string kOther = "other";
inline const std::string kShop = "shop";

inline const AgentIdentity kSelf{kNode, "node", "cluster"};

// What of the pods that the record lets mount differs from the order.
enum class Differs { kNothing, kNamespace, kClaim, kMode, kClosed };

// Which order the host's record says.
enum class Followed { kThisOrder, kEarlierOrder, kLaterOrder, kAnotherObject };

// An order that the agent of kSelf's node is to serve.
VolumeCopy sample_copy();

struct PlanCase {
  VolumeCopy copy = sample_copy();
  HostCopy host;
  bool fresh = true;
  bool in_doubt = false;

  CopyPlan plan() const { return plan_copy({&copy, fresh, in_doubt}, kSelf, host); }
  CopyOrder& order() { return *copy.order; }
  const CopyOrder& order() const { return *copy.order; }

  void says(CopyState state) {
    copy.status.state = state;
    copy.status.promised = is_of_promised(state);
    copy.status.made = state == CopyState::kReady;
  }
  // The record, as it follows the order now.
  void has(RecordStage record, const std::string& of = kThis) {
    host.record = record;
    host.record_copy = of;
    host.claim_uid = order().claim_uid;
    host.claim_namespace = kShop;
    host.access_mode = order().volume.access_mode;
    follows(Followed::kThisOrder);
  }
  void follows(Followed from) {
    host.order_uid = from == Followed::kAnotherObject ? kOther : kObject;
    host.order_term = order().term;
    host.order_generation = from == Followed::kLaterOrder     ? 6
                            : from == Followed::kEarlierOrder ? 4
                                                              : 5;
  }
  void has_disk(DiskStage disk, const std::string& of = kThis) {
    host.disk = disk;
    host.disk_copy = of;
    host.size = kGiB;
  }

  // Of what nobody promised, and of which the host has no record, nothing was made.
  bool is_untouched() const {
    return order().origin == Origin::kNew && !copy.status.promised && !copy.status.made &&
           !has_record();
  }
  // Its removal had come to its end when it was taken back.
  bool is_wiped() const {
    const bool removed =
        copy.status.state == CopyState::kRemoving || copy.status.state == CopyState::kRemoved;
    return removed && wants(DesiredState::kRetained) && !has_record() &&
           host.disk == DiskStage::kNone;
  }
  // No claim may mount it, of whichever pods.
  bool is_closed() const { return host.claim_uid.empty() && host.claim_namespace == kShop; }
  bool has_record() const { return host.record != RecordStage::kNone; }
  bool is_begun() const {
    return host.record == RecordStage::kPromised || host.record == RecordStage::kMaking;
  }
  bool is_record_of_this() const { return has_record() && host.record_copy == kThis; }
  bool is_disk_ours() const {
    return host.disk == DiskStage::kMaking || host.disk == DiskStage::kReady ||
           host.disk == DiskStage::kWiping;
  }
  bool is_disk_of_this() const { return is_disk_ours() && host.disk_copy == kThis; }
  bool is_any_of_another() const {
    return (has_record() && !is_record_of_this()) || (is_disk_ours() && !is_disk_of_this());
  }
  bool is_rolled_back() const {
    return is_record_of_this() && host.order_uid == kObject && host.order_generation > 5;
  }
  bool lets_mount_as_ordered() const {
    return host.claim_namespace == kShop && host.claim_uid == order().claim_uid &&
           host.access_mode == order().volume.access_mode;
  }
  void lets_mount(Differs differs) {
    if (differs == Differs::kNamespace) host.claim_namespace = "bank";
    if (differs == Differs::kClaim) host.claim_uid = "another";
    if (differs == Differs::kClosed) host.claim_uid.clear();
    if (differs == Differs::kMode) host.access_mode = engine::AccessMode::kReadWriteOncePod;
  }
  bool wants(DesiredState desired) const { return order().desired == desired; }
  bool wants_it_gone() const { return is_to_go(order().desired); }
  // It was there, by what was said, and no withdrawal of what no pod had has taken it away since.
  bool was_here() const {
    const bool going =
        copy.status.state == CopyState::kRemoving || copy.status.state == CopyState::kRemoved;
    return was_made_or_found(copy) && !(going && !copy.status.used);
  }
  // No pod has had it, by the host and by what was said.
  bool is_free_to_go() const {
    const bool unmade = !has_record() || host.record == RecordStage::kPromised ||
                        host.record == RecordStage::kRefused;
    if (is_any_of_another() || (unmade && !is_disk_of_this())) return !was_here();
    const bool of_before = host.record == RecordStage::kMaking && host.disk == DiskStage::kReady;
    return !host.used && !copy.status.used && !of_before;
  }

  std::string text() const;
};

// Every host, with the order that `one` has; of a host with more disk than is ordered, too.
void for_each_host(PlanCase& one, const std::function<void(const PlanCase&)>& visit);

// Every order with every answer, as well as it may be known.
void for_each_order(const std::function<void(PlanCase&)>& visit);

}  // namespace flexlocal::provisioner::test
