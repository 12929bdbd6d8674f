#include "provisioner/controller/ends/orphaned_copy_worker.h"

#include <algorithm>
#include <string_view>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// What may pass by itself.
constexpr auto kInTheWay = std::chrono::minutes(10);

std::string_view what_it_lacks(const Orphan& orphan) {
  return orphan.object ? " has no PersistentVolume and no claim"
                       : " has no VolumeCopy and no PersistentVolume";
}

}  // namespace

void OrphanedCopyWorker::forget(const std::string& name) {
  ages_.forget(name);
  removal_.forget(name);
  report_.forget(name);
}

void OrphanedCopyWorker::forget_unless(
    const std::function<bool(const std::string& name)>& is_there) {
  ages_.forget_unless(is_there);
  removal_.forget_unless(is_there);
  report_.forget_unless(is_there);
}

Task<Requeue> OrphanedCopyWorker::work(const Orphan& orphan) {
  const std::string name = copy_name(orphan.order);
  const OrphanedCopy view = view_of(orphan);
  if (view.claim_lives) found_none(name);
  const OrphanedCopyPlan plan = plan_orphaned_copy(view, options_.policy, options_.grace);
  if (plan.action == OrphanedCopyAction::kReport) ages_.rest(name, pause_after_report(view));
  auto carried = co_await carry_out(orphan, plan);
  if (!carried) {
    found_none(name);  // from the beginning, whatever it was
    co_return carried.error();
  }
  const auto next = ages_.next_look(name);
  if (next <= std::chrono::nanoseconds(0)) co_return std::nullopt;
  co_return next;
}

// Where a person is to act there is no hurry; what goes with its node is looked at again soon.
std::chrono::nanoseconds OrphanedCopyWorker::pause_after_report(const OrphanedCopy& view) const {
  const bool goes_with_node = view.node_is_gone && !view.retained &&
                              options_.node_delete_policy != NodeDeletePolicy::kReport;
  const bool for_a_person = options_.policy == OrphanPolicy::kReport || !view.is_ordered ||
                            view.retained || view.node_is_gone || options_.saw_put_back;
  const std::chrono::nanoseconds soon =
      std::min<std::chrono::nanoseconds>(options_.grace, goes_with_node ? kOrphanTold : kInTheWay);
  return for_a_person && !goes_with_node ? std::chrono::nanoseconds(kOrphanReportInterval) : soon;
}

OrphanedCopy OrphanedCopyWorker::view_of(const Orphan& orphan) {
  OrphanedCopy view;
  const CopyOrder& order = orphan.order;
  view.claim_lives = owners_.claim_of(order) != nullptr;
  view.is_ordered = orphan.object.has_value();
  view.retained = orphan.retained;
  if (orphan.object)
    view.retained =
        order.reclaim_policy != "Delete" ||
        (orphan.object->status.state == CopyState::kRetained && !is_kept(*orphan.object));
  view.node_is_gone = view_.nodes.get(order.node) == nullptr;
  view.in_doubt = removal_.is_in_doubt();
  const OrphanAges::Age age = ages_.look(copy_name(order), is_removable(view));
  view.age = age.orphaned;
  view.removable_for = age.removable;
  return view;
}

// The lists may lag behind: whatever is done or said is by the API server's own word, that on the
// PersistentVolume last.
Task<Status> OrphanedCopyWorker::carry_out(const Orphan& orphan, const OrphanedCopyPlan& plan) {
  using Action = OrphanedCopyAction;
  const std::string name = copy_name(orphan.order);
  if (plan.action == Action::kWait) co_return Status();
  const bool has_another = owners_.has_any_volume(orphan.order);
  if (plan.action == Action::kRemove && !has_another) {
    auto claimed = co_await owners_.has_claim(orphan.order);
    if (!claimed) co_return claimed.error();
    if (*claimed) {
      found_none(name);
      co_return Status();
    }
  }
  auto volume = co_await owners_.read_volume(orphan.order);
  if (!volume) co_return volume.error();
  Status removed;
  if (*volume && (*volume)->copy == orphan.order.volume.copy)
    found_none(name);  // the watch brings it
  else if (*volume || has_another)
    report_other_copy(orphan);
  else if (plan.action == Action::kReportToClaim)
    report_to_claim(orphan);
  else if (plan.action == Action::kRemove)
    removed = co_await removal_.remove(orphan);
  else
    report_.report(orphan,
                   concat(what_it_lacks(orphan),
                          plan.action == Action::kReport ? "; its data stays: " : "; ", plan.why));
  co_return removed;
}

// One that waits gets the copy, or is told what else is done with it: see prior_copies.h.
void OrphanedCopyWorker::report_to_claim(const Orphan& orphan) {
  const auto claim = owners_.claim_of(orphan.order);
  if (claim != nullptr && !claim->volume_name.empty())
    report_.report_to_claim(*claim, orphan.order);
}

void OrphanedCopyWorker::report_other_copy(const Orphan& orphan) {
  ages_.rest(copy_name(orphan.order), kOrphanReportInterval);
  report_.report(orphan, " is not used: its PersistentVolume names another copy; its data stays");
}

void OrphanedCopyWorker::report_removal(const VolumeCopy& copy) {
  if (removal_.report(copy)) forget(copy.name);
}

}  // namespace flexlocal::provisioner
