#include "provisioner/agent/copy_plan.h"

#include <optional>

namespace flexlocal::provisioner {
namespace {

CopyPlan todo(CopyAction action, CopyState state) { return {action, state, CopyTrouble::kNone}; }
CopyPlan stands(CopyState state) { return todo(CopyAction::kNone, state); }
CopyPlan trouble(CopyTrouble why, CopyState state) { return {CopyAction::kNone, state, why}; }
CopyPlan lost(CopyTrouble why) { return trouble(why, CopyState::kLost); }

class Planner {
 public:
  Planner(const CopyView& view, const CopyOrder& order, const AgentIdentity& self,
          const HostCopy& host)
      : view_(view),
        copy_(*view.copy),
        order_(order),
        said_(copy_.status.state),
        self_(self),
        host_(host) {}

  CopyPlan plan() const {
    if (const auto barred = whatever_bars()) return *barred;
    if (order_.desired == DesiredState::kRemoved) return remove();
    if (order_.desired == DesiredState::kWithdrawn)
      if (const auto gone = withdraw()) return *gone;
    switch (host_.record) {
      case RecordStage::kNone:
        return without_record();
      case RecordStage::kPromised:
      case RecordStage::kMaking:
        return promised();
      case RecordStage::kReady:
        return ready();
      case RecordStage::kWiping:
        return view_.fresh ? lost(CopyTrouble::kWipeBegun) : read_anew();
      case RecordStage::kRefused:
        return is_disk_of_this() ? wait(CopyTrouble::kDamaged)
                                 : trouble(CopyTrouble::kRefused, CopyState::kRefused);
      case RecordStage::kDamaged:
        break;  // bars all
    }
    return wait(CopyTrouble::kDamaged);
  }

 private:
  // What was said last is left as it is.
  CopyPlan wait(CopyTrouble why) const { return trouble(why, said_); }
  CopyPlan read_anew() const { return todo(CopyAction::kReadAnew, said_); }
  // What cannot be undone is done by an order that is read anew, and that nobody may have put back.
  CopyPlan surely(CopyAction action, CopyState state) const {
    if (view_.in_doubt) return wait(CopyTrouble::kInDoubt);
    return view_.fresh ? todo(action, state) : read_anew();
  }

  bool has_record() const { return host_.record != RecordStage::kNone; }
  bool is_record_of_this() const { return has_record() && host_.record_copy == order_.volume.copy; }
  bool is_disk_of_this() const {
    return is_ours(host_.disk) && host_.disk_copy == order_.volume.copy;
  }

  // By the record nothing of it was ever made.
  bool is_unmade() const {
    return host_.record == RecordStage::kPromised || host_.record == RecordStage::kRefused;
  }

  std::optional<CopyPlan> whatever_bars() const {
    if (host_.record == RecordStage::kDamaged) return wait(CopyTrouble::kDamaged);
    if (host_.disk == DiskStage::kUnseen) return unseen();
    if (const auto barred = an_older_order()) return barred;
    const bool other_record = has_record() && !is_record_of_this();
    const bool other_disk = is_ours(host_.disk) && !is_disk_of_this();
    if ((other_record && is_disk_of_this()) || (is_record_of_this() && other_disk))
      return wait(CopyTrouble::kDamaged);
    if (!other_record && !other_disk) return std::nullopt;
    const bool goes =
        is_to_go(order_.desired) && (order_.desired == DesiredState::kRemoved || !was_here());
    if (!goes)
      return copy_.status.promised ? lost(CopyTrouble::kAnotherCopy)
                                   : wait(CopyTrouble::kAnotherCopy);
    return surely(CopyAction::kNone, CopyState::kRemoved);  // none of this copy is here
  }

  // Nothing was made of what nobody promised: it need not wait for its disks to be seen, and the
  // claim goes elsewhere.
  CopyPlan unseen() const {
    const bool untouched = order_.origin == Origin::kNew && !copy_.status.promised &&
                           !copy_.status.made && !has_record();
    if (!untouched) return wait(CopyTrouble::kUnseen);
    if (is_to_go(order_.desired)) return surely(CopyAction::kNone, CopyState::kRemoved);
    const bool open = said_ == CopyState::kUnsaid || said_ == CopyState::kRefused;
    if (!open || order_.desired != DesiredState::kServing) return wait(CopyTrouble::kUnseen);
    return view_.fresh ? trouble(CopyTrouble::kUnseen, CopyState::kRefused) : read_anew();
  }

  // A watch may lag behind; an API server that says so itself was put back.
  std::optional<CopyPlan> an_older_order() const {
    if (!is_record_of_this()) return std::nullopt;
    if (host_.order_uid != copy_.uid)
      return view_.fresh ? std::nullopt : std::optional(read_anew());
    // One of a later leader was written after that, whatever its generation: the API server may
    // have been put back in between.
    if (order_.term > host_.order_term || copy_.generation >= host_.order_generation)
      return std::nullopt;
    return view_.fresh ? wait(CopyTrouble::kRolledBack) : read_anew();
  }

  CopyPlan remove() const {
    if (!has_record() && !is_disk_of_this()) return surely(CopyAction::kNone, CopyState::kRemoved);
    if (is_unmade() && !is_disk_of_this())
      return surely(CopyAction::kWithdraw, CopyState::kRemoving);
    if (host_.disk == DiskStage::kForeign) return wait(CopyTrouble::kForeign);
    if (!host_.open) return surely(CopyAction::kRemove, CopyState::kRemoving);
    // No further pod is to have it.
    const bool mountable = is_record_of_this() && !host_.claim_uid.empty() && !is_unmade() &&
                           host_.record != RecordStage::kWiping;
    return mountable ? surely(CopyAction::kClose, said_) : wait(CopyTrouble::kBusy);
  }

  // By what was said of it. That it is going was said before anything of it was taken away; what a
  // pod has had was going by another order.
  bool was_here() const {
    const bool was_going =
        (said_ == CopyState::kRemoving || said_ == CopyState::kRemoved) && !copy_.status.used;
    return was_made_or_found(copy_) && !was_going;
  }

  // nullopt: a pod may have had it, so that it is kept, or lost.
  std::optional<CopyPlan> withdraw() const {
    const bool unmade = !is_disk_of_this() && (!has_record() || is_unmade());
    if (unmade) return was_here() ? std::nullopt : std::optional(remove());
    // A record of the making beside tags that say ready is one of before.
    const bool is_earlier = host_.record == RecordStage::kMaking && host_.disk == DiskStage::kReady;
    const bool used = host_.used || copy_.status.used || is_earlier;
    return used ? std::nullopt : std::optional(remove());
  }

  // Of what is not ready by its tags nobody knows without its record whether it held data.
  CopyPlan without_record() const {
    if (host_.disk == DiskStage::kReady) return surely(CopyAction::kAdopt, said_);
    if (host_.disk == DiskStage::kWiping) return lost(CopyTrouble::kWipeBegun);
    if (host_.disk == DiskStage::kMaking) return lost(CopyTrouble::kDamaged);
    // The removal had come to its end when it was taken back.
    const bool was_removed = said_ == CopyState::kRemoving || said_ == CopyState::kRemoved;
    if (was_removed && order_.desired == DesiredState::kRetained &&
        host_.disk == DiskStage::kNone) {
      CopyPlan removed = surely(CopyAction::kNone, CopyState::kRemoved);
      if (removed.action == CopyAction::kNone && removed.trouble == CopyTrouble::kNone)
        removed.trouble = CopyTrouble::kWiped;
      return removed;
    }
    // The controller gives the place up after a refusal: it is not promised behind its back.
    if (said_ == CopyState::kRefused) return wait(CopyTrouble::kRefused);
    if (copy_.status.promised || copy_.status.made || said_ != CopyState::kUnsaid ||
        order_.origin != Origin::kNew)
      return lost(CopyTrouble::kGone);
    if (order_.desired != DesiredState::kServing) return wait(CopyTrouble::kNothing);
    if (copy_.deleting) return wait(CopyTrouble::kDeleting);
    // A Node that was made anew under its name may be another machine.
    if (order_.node_uid != self_.node_uid) return wait(CopyTrouble::kNotHere);
    if (host_.disk == DiskStage::kForeign)
      return view_.fresh ? trouble(CopyTrouble::kForeign, CopyState::kRefused) : read_anew();
    return surely(CopyAction::kPromise, said_);
  }

  CopyPlan promised() const {
    // The record is one of before.
    if (copy_.status.made && host_.disk == DiskStage::kNone) return lost(CopyTrouble::kGone);
    if (copy_.status.made && host_.disk == DiskStage::kForeign) return lost(CopyTrouble::kForeign);
    if (host_.disk == DiskStage::kWiping) return lost(CopyTrouble::kWipeBegun);
    if (said_ == CopyState::kRefused) return give_up();
    // What has its name is in the way of its making, and of nothing else.
    const bool only_recorded = is_to_be_kept(order_.desired) && is_unmade();
    if (host_.disk == DiskStage::kForeign && !only_recorded)
      return host_.hopeless ? give_up() : trouble(CopyTrouble::kForeign, CopyState::kPromised);
    if (const auto other = as_ordered(CopyState::kPromised)) return *other;
    if (!copy_.status.promised) return stands(CopyState::kPromised);
    if (host_.hopeless && host_.disk == DiskStage::kNone) return give_up();
    return todo(CopyAction::kMake, CopyState::kPromised);
  }

  // Never where a pod may have mounted it.
  CopyPlan give_up() const {
    const bool unmade = host_.record == RecordStage::kPromised && !is_disk_of_this();
    return unmade && !host_.open && !copy_.status.made
               ? todo(CopyAction::kGiveUp, CopyState::kPromised)
               : wait(CopyTrouble::kDamaged);
  }

  // A volume that is not there may come back with its disk: nothing of it is given up.
  CopyPlan ready() const {
    if (host_.disk == DiskStage::kNone) return lost(CopyTrouble::kGone);
    if (host_.disk == DiskStage::kForeign) return lost(CopyTrouble::kForeign);
    if (host_.disk == DiskStage::kWiping) return lost(CopyTrouble::kWipeBegun);
    if (const auto other = as_ordered(CopyState::kReady)) return *other;
    const bool grows = host_.size < order_.volume.size;
    return todo(grows ? CopyAction::kGrow : CopyAction::kNone, CopyState::kReady);
  }

  // What is to be said in the record first; nullopt: it says what is ordered, and that is to serve.
  std::optional<CopyPlan> as_ordered(CopyState served) const {
    const bool keep = is_to_be_kept(order_.desired);
    // A host whose record is lost has nothing but the tags.
    const bool kept = host_.retained && !host_.partly_retained;
    const bool retained = keep ? kept : host_.retained;
    const CopyState now = retained ? CopyState::kRetained : served;
    if (keep && !kept) return todo(CopyAction::kRetain, now);
    const bool same_pods = host_.claim_uid == order_.claim_uid &&
                           host_.claim_namespace == order_.volume.claim_namespace &&
                           host_.access_mode == order_.volume.access_mode;
    // A record that names no claim was closed, or made anew from tags: who has the volume open was
    // let in before that.
    const bool of_others =
        !host_.claim_uid.empty() || host_.claim_namespace != order_.volume.claim_namespace;
    if (!same_pods && host_.open && of_others) return trouble(CopyTrouble::kBusy, now);
    // Who may mount what holds data is not changed by an order that may have been put back.
    if (!same_pods) return surely(CopyAction::kRecord, now);
    if (host_.order_uid != copy_.uid || host_.order_generation != copy_.generation)
      return todo(CopyAction::kRecord, now);
    if (keep) return stands(CopyState::kRetained);
    if (host_.retained) return surely(CopyAction::kRelease, CopyState::kRetained);
    return std::nullopt;
  }

  const CopyView& view_;
  const VolumeCopy& copy_;
  const CopyOrder& order_;
  const CopyState said_;
  const AgentIdentity& self_;
  const HostCopy& host_;
};

}  // namespace

CopyPlan plan_copy(const CopyView& view, const AgentIdentity& self, const HostCopy& host) {
  if (view.copy == nullptr) return {};
  const VolumeCopy& copy = *view.copy;
  if (!is_understood(copy)) return trouble(CopyTrouble::kNotUnderstood, copy.status.state);
  if (copy.order->node != self.node || copy.order->volume.cluster_id != self.cluster_id)
    return trouble(CopyTrouble::kNotHere, copy.status.state);
  return Planner(view, *copy.order, self, host).plan();
}

}  // namespace flexlocal::provisioner
