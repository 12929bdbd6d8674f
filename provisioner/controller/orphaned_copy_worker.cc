#include "provisioner/controller/orphaned_copy_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/kube/complete_list.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// Events are kept for an hour.
constexpr auto kReportInterval = std::chrono::hours(1);
// What may pass by itself.
constexpr auto kInTheWay = std::chrono::minutes(10);
constexpr std::string_view kOrphaned = "OrphanedVolume";

std::string place_text(const CopyOrder& order) {
  return concat("volume ", order.volume.name.text(), " (", to_string(order.volume.size),
                ", namespace ", order.volume.claim_namespace,
                order.claim_name.empty() ? "" : ", claim ", order.claim_name, ") on node ",
                order.node);
}

std::string_view what_it_lacks(const Orphan& orphan) {
  return orphan.object ? " has no PersistentVolume and no claim"
                       : " has no VolumeCopy and no PersistentVolume";
}

bool is_of(const CopyOrder& order, const std::string& claim_uid) {
  return claim_uid == order.claim_uid || claim_uid == order.volume.name.claim_uid();
}

}  // namespace

bool OrphanedCopyWorker::rests(const std::string& name) const {
  const auto known = known_.find(name);
  return known != known_.end() && clock_.now() < known->second.next;
}

void OrphanedCopyWorker::begin_look(const std::string& name) {
  const auto now = clock_.now();
  known_.try_emplace(name, Known{.since = now, .removable_since = now});
  rest(name, std::min<std::chrono::nanoseconds>(options_.grace, kOrphanTold));
}

void OrphanedCopyWorker::found_none(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) known->second.since = known->second.removable_since = clock_.now();
}

void OrphanedCopyWorker::rest(const std::string& name, std::chrono::nanoseconds pause) {
  const auto known = known_.find(name);
  if (known != known_.end()) known->second.next = clock_.now() + pause;
}

void OrphanedCopyWorker::forget(const std::string& name) {
  known_.erase(name);
  removing_.erase(name);
}

void OrphanedCopyWorker::forget_unless(
    const std::function<bool(const std::string& name)>& is_there) {
  std::erase_if(known_, [&](const auto& known) { return !is_there(known.first); });
  std::erase_if(removing_, [&](const std::string& name) { return !is_there(name); });
}

Task<Requeue> OrphanedCopyWorker::work(const Orphan& orphan) {
  const std::string name = copy_name(orphan.order);
  const OrphanedCopy view = view_of(orphan);
  if (view.claim_lives) found_none(name);
  const OrphanedCopyPlan plan = plan_orphaned_copy(view, options_.policy, options_.grace);
  if (plan.action == OrphanedCopyAction::kReport) rest(name, pause_after_report(view));
  auto carried = co_await carry_out(orphan, plan);
  if (!carried) {
    found_none(name);  // from the beginning, whatever it was
    co_return carried.error();
  }
  const auto known = known_.find(name);
  const auto now = clock_.now();
  if (known == known_.end() || known->second.next <= now) co_return std::nullopt;
  co_return known->second.next - now;
}

// Where a person is to act there is no hurry; what goes with its node is looked at again soon.
std::chrono::nanoseconds OrphanedCopyWorker::pause_after_report(const OrphanedCopy& view) const {
  const bool goes_with_node = view.node_is_gone && !view.retained &&
                              options_.node_delete_policy != NodeDeletePolicy::kReport;
  const bool for_a_person = options_.policy == OrphanPolicy::kReport || !view.is_ordered ||
                            view.retained || view.node_is_gone || options_.saw_put_back;
  const std::chrono::nanoseconds soon =
      std::min<std::chrono::nanoseconds>(options_.grace, goes_with_node ? kOrphanTold : kInTheWay);
  return for_a_person && !goes_with_node ? std::chrono::nanoseconds(kReportInterval) : soon;
}

OrphanedCopy OrphanedCopyWorker::view_of(const Orphan& orphan) {
  OrphanedCopy view;
  const CopyOrder& order = orphan.order;
  view.claim_lives = claim_of(order) != nullptr;
  view.is_ordered = orphan.object.has_value();
  view.retained = orphan.retained;
  if (orphan.object)
    view.retained =
        order.reclaim_policy != "Delete" ||
        (orphan.object->status.state == CopyState::kRetained && !is_kept(*orphan.object));
  view.node_is_gone = view_.nodes.get(order.node) == nullptr;
  view.in_doubt = is_in_doubt();
  const auto now = clock_.now();
  const auto known = known_.find(copy_name(order));
  if (known == known_.end()) return view;
  if (!is_removable(view)) known->second.removable_since = now;
  view.age = now - known->second.since;
  view.removable_for = now - known->second.removable_since;
  return view;
}

bool OrphanedCopyWorker::is_in_doubt() const {
  return roll_.leaves_doubt() || options_.saw_put_back;
}

// The lists may lag behind: whatever is done or said is by the API server's own word, that on the
// PersistentVolume last.
Task<Status> OrphanedCopyWorker::carry_out(const Orphan& orphan, const OrphanedCopyPlan& plan) {
  using Action = OrphanedCopyAction;
  const std::string name = copy_name(orphan.order);
  if (plan.action == Action::kWait) co_return Status();
  const bool has_another = view_.volumes.get(orphan.order.volume.name.text()) != nullptr;
  if (plan.action == Action::kRemove && !has_another) {
    auto claimed = co_await has_claim(orphan.order);
    if (!claimed) co_return claimed.error();
    if (*claimed) {
      found_none(name);
      co_return Status();
    }
  }
  auto volume = co_await volume_of(orphan.order);
  if (!volume) co_return volume.error();
  Status removed;
  if (*volume && (*volume)->copy == orphan.order.volume.copy)
    found_none(name);  // the watch brings it
  else if (*volume || has_another)
    report_other_copy(orphan);
  else if (plan.action == Action::kReportToClaim)
    report_to_claim(orphan);
  else if (plan.action == Action::kRemove)
    removed = co_await remove(orphan);
  else
    report(orphan, concat(what_it_lacks(orphan),
                          plan.action == Action::kReport ? "; its data stays: " : "; ", plan.why));
  co_return removed;
}

// What came while the API server was asked counts.
Task<Status> OrphanedCopyWorker::remove(const Orphan& orphan) {
  const CopyOrder& order = orphan.order;
  const std::string name = copy_name(order);
  if (claim_of(order) != nullptr || view_.volumes.get(order.volume.name.text()) != nullptr ||
      is_in_doubt()) {
    found_none(name);
    co_return Status();
  }
  auto ordered = co_await desk_.order(*orphan.object, DesiredState::kRemoved);
  if (!ordered) co_return ordered;
  removing_.insert(name);
  log_.warning("orphaned volume is being removed", {{"copy", name}, {"node", order.node}});
  co_return Status();
}

// The PersistentVolume of that name, whichever copy it names.
Task<Result<std::optional<Volume>>> OrphanedCopyWorker::volume_of(const CopyOrder& order) {
  const std::string path = volume_path(order.volume.name.text());
  const auto answer = co_await api_.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return std::nullopt;
  if (!answer) co_return answer.error().context("asking whether the PersistentVolume is gone");
  auto volume = decode_volume(answer->root());
  if (!volume) co_return Error(ErrorCode::kCorrupt, "the PersistentVolume cannot be read");
  co_return volume;
}

// The informer keeps claims that wait, or are of classes that are there, only.
Task<Result<bool>> OrphanedCopyWorker::has_claim(const CopyOrder& order) {
  const std::string path = claims_path(order.volume.claim_namespace);
  const std::string no_selector;
  const std::string field = "uid";
  auto uids = co_await complete_list(api_, path, no_selector, field);
  if (!uids) co_return uids.error().context("asking whether the claim is gone");
  co_return std::ranges::any_of(*uids, [&](const std::string& uid) { return is_of(order, uid); });
}

kube::Found<Claim> OrphanedCopyWorker::claim_of(const CopyOrder& order) const {
  if (!order.claim_name.empty()) {
    const auto named =
        view_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
    return named != nullptr && is_of(order, named->uid) ? named : nullptr;
  }
  kube::Found<Claim> found;
  view_.claims.for_each([&](const std::string&, const Claim& claim) {
    if (is_of(order, claim.uid)) found = std::make_shared<const Claim>(claim);
  });
  return found;
}

// Not told within the last hour; from now on it is.
bool OrphanedCopyWorker::is_new(const std::string& name, const std::string& text) {
  const auto known = known_.find(name);
  if (known == known_.end()) return false;
  const auto now = clock_.now();
  if (known->second.text == text && now - known->second.reported < kReportInterval) return false;
  known->second.text = text;
  known->second.reported = now;
  return true;
}

void OrphanedCopyWorker::report_to_claim(const Orphan& orphan) {
  const CopyOrder& order = orphan.order;
  const auto claim = claim_of(order);
  // One that waits gets the copy, or is told what else is done with it: see order_worker.h.
  if (claim == nullptr || claim->volume_name.empty()) return;
  const std::string text =
      concat("PersistentVolume ", order.volume.name.text(),
             " was deleted while this claim exists; its data, ", place_text(order),
             ", stays as long as the claim does: copy it away before the claim is deleted, or "
             "create the PersistentVolume again as it was");
  if (!is_new(copy_name(order), text)) return;
  log_.warning("a claim has lost its PersistentVolume; its data stays",
               {{"namespace", claim->namespace_name},
                {"claim", claim->name},
                {"volume", order.volume.name.text()}});
  events_.record(*claim, kube::EventType::kWarning, kOrphaned, text);
}

// `what` follows the copy's name and place.
void OrphanedCopyWorker::report(const Orphan& orphan, const std::string& what) {
  const CopyOrder& order = orphan.order;
  const std::string name = copy_name(order);
  std::string text = place_text(order) + what;
  if (orphan.object)
    text += concat(". A person removes it by spec.desiredState=Removed of VolumeCopy ", name);
  if (!is_new(name, text)) return;
  log_.warning("orphaned volume", {{"copy", name}, {"node", order.node}});
  record_event(order, kube::EventType::kWarning, kOrphaned, text);
}

void OrphanedCopyWorker::report_other_copy(const Orphan& orphan) {
  rest(copy_name(orphan.order), kReportInterval);
  report(orphan, " is not used: its PersistentVolume names another copy; its data stays");
}

void OrphanedCopyWorker::report_removal(const VolumeCopy& copy) {
  if (!copy.order || !removing_.contains(copy.name)) return;
  const CopyOrder& order = *copy.order;
  if (order.desired != DesiredState::kRemoved) return forget(copy.name);
  const bool answered = is_answered(copy);
  if (answered && copy.status.state == CopyState::kRemoved) {
    forget(copy.name);
    return record_event(
        order, kube::EventType::kNormal, "OrphanedVolumeDeleted",
        concat(place_text(order), " had neither PersistentVolume nor claim and is removed"));
  }
  std::string why;
  if (!answered && !rests(copy.name)) why = "its node has not answered";
  for (const CopyCondition& condition : copy.status.conditions)
    if (answered && !condition.holds && !condition.message.empty()) why = condition.message;
  const std::string text = concat(place_text(order), " is not removed: ", why);
  if (!why.empty() && is_new(copy.name, text))
    record_event(order, kube::EventType::kWarning, kOrphaned, text);
}

void OrphanedCopyWorker::record_event(const CopyOrder& order, kube::EventType type,
                                      std::string_view reason, const std::string& message) {
  const NodeIdentity node{order.node, order.hostname, order.node_uid};
  events_.record(reference_to(node), type, reason, message);
}

}  // namespace flexlocal::provisioner
