#include "provisioner/agent/copy_answer.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

std::string_view reason_of(CopyAction action) {
  switch (action) {
    case CopyAction::kPromise:
      return "NotPossibleHere";
    case CopyAction::kMake:
      return "NotMade";
    case CopyAction::kGrow:
      return kNotGrown;
    case CopyAction::kRemove:
    case CopyAction::kClose:
    case CopyAction::kWithdraw:
      return "NotRemoved";
    case CopyAction::kAdopt:
      return "NotTakenUp";
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
    case CopyAction::kRecord:
    case CopyAction::kRetain:
    case CopyAction::kRelease:
    case CopyAction::kGiveUp:
      break;
  }
  return "NotRecorded";
}

void set_behind(CopyStatus& status, bool behind, Clock::Wall now) {
  const std::string type(kFileSystemResizePending);
  if (behind)
    set_condition(status,
                  {type, true, "AtNextMount", "the file system grows when it is mounted next", {}},
                  now);
  else if (find_condition(status, type) != nullptr)
    set_condition(status, {type, false, "Grown", "", {}}, now);
}

// While there is something to do, what was said of it before stands: said anew at every try, it
// would call for the next one.
void set_as_ordered(CopyStatus& status, const CopyPlan& plan,
                    const std::optional<CopyProblem>& problem, Clock::Wall now) {
  const bool as_ordered = plan.action == CopyAction::kNone && plan.trouble == CopyTrouble::kNone;
  const std::string type(kAsOrdered);
  if (problem)
    set_condition(status, {type, false, problem->reason, problem->message, {}}, now);
  else if (as_ordered && find_condition(status, type) != nullptr)
    set_condition(status, {type, true, "AsOrdered", "", {}}, now);
}

// Of what is to serve no more: a mount may have made it since the last look, or before its host
// lost what told of it.
bool may_be_made(const VolumeCopy& copy, const CopyPlan& plan, const HostCopy& host) {
  if (!copy.order || copy.order->desired == DesiredState::kServing) return false;
  const std::string& id = copy.order->volume.copy;
  const bool is_begun = host.record == RecordStage::kMaking || host.record == RecordStage::kReady ||
                        host.record == RecordStage::kWiping;
  return (is_begun && host.record_copy == id) || (is_ours(host.disk) && host.disk_copy == id) ||
         plan.state == CopyState::kLost || copy.status.state == CopyState::kLost;
}

bool is_noted_as_used(const VolumeCopy& copy, const HostCopy& host) {
  return copy.order && host.record == RecordStage::kReady && host.used &&
         host.record_copy == copy.order->volume.copy;
}

// nullopt also for what the copy or the host says more of.
std::optional<CopyProblem> words_of(CopyTrouble trouble, DesiredState desired) {
  switch (trouble) {
    case CopyTrouble::kNone:
    case CopyTrouble::kRefused:
    case CopyTrouble::kNotUnderstood:
      return std::nullopt;
    case CopyTrouble::kNotHere:
      return CopyProblem{"NotHere",
                         "the order is of another cluster or another Node than this one is now"};
    case CopyTrouble::kDeleting:
      return CopyProblem{"Deleting", "the object is being deleted, so that nothing is promised"};
    case CopyTrouble::kUnseen:
      return CopyProblem{"DisksUnseen",
                         "the pool's disks cannot be looked at now; see the node daemon's log"};
    case CopyTrouble::kInDoubt:
      return CopyProblem{"InDoubt",
                         "the order is of an earlier leader's term than one that this host "
                         "followed: the cluster's etcd may have been put back to an earlier time, "
                         "and nothing is done that cannot be undone"};
    case CopyTrouble::kRolledBack:
      return CopyProblem{"RolledBack",
                         "the order is older than the one that this host followed last: the "
                         "cluster's etcd may have been put back to an earlier time"};
    case CopyTrouble::kAnotherCopy:
      return CopyProblem{"AnotherCopy",
                         "another copy of the volume has its place on this host's disks"};
    case CopyTrouble::kForeign:
      return CopyProblem{"NameTaken",
                         "a logical volume or folder of the volume's name is there that is not "
                         "this cluster's; remove or rename it if nobody needs it"};
    case CopyTrouble::kDamaged:
      return CopyProblem{"Damaged",
                         "what the host's record, the disk and the status say of the copy "
                         "contradict one another; `flexlocal status` on the node shows them"};
    case CopyTrouble::kGone:
      return CopyProblem{"DataGone",
                         "the copy was promised or made, and neither is on this host's disks; it "
                         "is not made anew and empty. Bring the disk back, or delete the claim"};
    case CopyTrouble::kNothing:
      return CopyProblem{"NothingHere", "it is to be kept, and was never on this node"};
    case CopyTrouble::kWipeBegun:
      return CopyProblem{
          std::string(kPartlyWiped),
          "the volume is to be kept since its wiping began: part of it is wiped and "
          "lost; the rest stays on the disk as it is and is never mounted again; set "
          "the reclaim policy to Delete to go on"};
    case CopyTrouble::kWiped:
      return CopyProblem{"Wiped",
                         "the removal had come to its end when it was taken back: nothing is left"};
    case CopyTrouble::kBusy:
      return CopyProblem{
          "InUse", is_to_go(desired)
                       ? "the volume is in use and is not removed yet: somebody has it mounted "
                         "or open"
                       : "somebody has the volume mounted or open: it waits until that ends"};
  }
  return std::nullopt;
}

}  // namespace

CopyProblem problem_of(CopyAction action, const Error& error) {
  if (error.code() == ErrorCode::kBusy) return {"InUse", error.message()};
  return {std::string(reason_of(action)), error.message()};
}

std::optional<CopyProblem> problem_of(const CopyPlan& plan, const HostCopy& host,
                                      const VolumeCopy& copy) {
  if (plan.trouble == CopyTrouble::kNotUnderstood)
    return CopyProblem{"NotUnderstood",
                       concat("this node does not understand ", what_is_unknown(copy),
                              "; update its flexlocal-provisioner")};
  // Its object was deleted since, and with it what was said then.
  if (plan.trouble == CopyTrouble::kRefused && find_condition(copy.status, kAsOrdered) == nullptr)
    return CopyProblem{"GivenUp",
                       "the node could not make the volume that it had promised, and has given it "
                       "up; the node daemon's log of then says why"};
  if (plan.trouble == CopyTrouble::kUnseen && !host.unseen_why.empty())
    return CopyProblem{"DisksUnseen",
                       concat("the pool's disks cannot be looked at now: ", host.unseen_why)};
  return words_of(plan.trouble, copy.order ? copy.order->desired : DesiredState::kServing);
}

CopyStatus answer_to(const VolumeCopy& copy, const CopyPlan& plan, const HostCopy& host,
                     const std::optional<CopyProblem>& problem, const std::string& host_id,
                     Clock::Wall now) {
  CopyStatus status = copy.status;
  status.state = plan.state;
  status.promised = status.promised || is_of_promised(plan.state);
  status.made = status.made || plan.state == CopyState::kReady || may_be_made(copy, plan, host);
  status.used = status.used || is_noted_as_used(copy, host);
  // Of disks that are not to be seen, what was said last stands.
  if (host.disk != DiskStage::kUnseen) {
    const bool here = host.disk != DiskStage::kNone && host.disk != DiskStage::kForeign;
    status.size = here ? host.size : Bytes();
    status.mounted = here && host.open;
    set_behind(status, here && host.behind, now);
  }
  if (plan.state != CopyState::kRemoving) status.wiped = Bytes();
  status.host = host_id;
  status.observed_generation = copy.generation;
  set_as_ordered(status, plan, problem ? problem : problem_of(plan, host, copy), now);
  return status;
}

}  // namespace flexlocal::provisioner
