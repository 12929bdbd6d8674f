#include "provisioner/agent/copy_worker.h"

#include "provisioner/agent/host_copy.h"

namespace flexlocal::provisioner {
namespace {

// From a new order to a volume that is ready takes eight. What takes more goes round in a circle.
constexpr int kMostSteps = 16;

const std::optional<CopyProblem> kNoProblem;

// Until a look at the disks that is younger than the records a mount may have made the volume since
// the last one; and its pod may have ended since. That nothing is left of what was promised is said
// by a look of the same pass alone.
bool needs_look(const CopyPlan& plan, const VolumeCopy& copy, const Ledger& ledger,
                std::uint64_t looks) {
  const bool grave = plan.state == CopyState::kLost || plan.trouble == CopyTrouble::kDamaged;
  const bool vanished =
      plan.state == CopyState::kRemoved && plan.action == CopyAction::kNone && copy.status.promised;
  return (grave && !ledger.is_of_one_look()) ||
         ((vanished || plan.trouble == CopyTrouble::kBusy) && !ledger.has_looked_since(looks));
}

// Nothing was promised yet, and the host knows nothing of it.
bool is_new(const VolumeCopy& copy, const Ledger& ledger) {
  return copy.order && copy.order->origin == Origin::kNew &&
         copy.order->desired == DesiredState::kServing && !copy.status.promised &&
         ledger.inventory() &&
         !ledger.inventory()->records.contains(copy.order->volume.name.text());
}

// Nothing tells of its end.
bool passes_by_itself(CopyTrouble trouble) {
  return trouble == CopyTrouble::kBusy || trouble == CopyTrouble::kAnotherCopy;
}

// It runs programs: for seconds, or for as long as a disk hangs.
bool takes_long(CopyAction action) {
  switch (action) {
    case CopyAction::kAdopt:
    case CopyAction::kMake:
    case CopyAction::kGrow:
    case CopyAction::kRetain:
    case CopyAction::kRelease:
    case CopyAction::kRemove:
      return true;
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
    case CopyAction::kPromise:
    case CopyAction::kRecord:
    case CopyAction::kClose:
    case CopyAction::kWithdraw:
    case CopyAction::kGiveUp:
      break;
  }
  return false;
}

}  // namespace

Task<Result<Pass>> CopyWorker::work(const std::string& name, Pace pace) {
  const auto known = client_.find(name);
  if (known == nullptr) {
    hand_.forget(name);
    co_return Pass::kDone;
  }
  Turn turn{.copy = *known,
            .pace = pace,
            .looks = ledger_.looks()};  // the store may change while we wait
  for (int steps = 0; steps < kMostSteps; ++steps) {
    auto end = co_await step(turn);
    if (!end) co_return end.error();
    if (*end) co_return **end;
  }
  co_return Error(ErrorCode::kFailed, "the copy keeps changing while it is worked on");
}

Task<CopyWorker::StepEnd> CopyWorker::step(Turn& turn) {
  const bool anew = !turn.looked && needs_look(turn.plan, turn.copy, ledger_, turn.looks);
  // What was just promised is answered by the record.
  const bool was_new = turn.plan.action == CopyAction::kPromise;
  const bool for_new = !anew && (was_new || is_new(turn.copy, ledger_));
  auto known = for_new ? ledger_.refresh_for_new() : ledger_.refresh(anew);
  auto refreshed = co_await std::move(known);
  if (!refreshed) co_return refreshed.error().context("looking at this node's disks");
  if (anew) {
    turn.looked = true;
    turn.fresh = false;
  }
  // Another's, by a label that does not say so: it is that node's to answer.
  if (turn.copy.order && turn.copy.order->node != self_.identity.node)
    co_return std::optional(Pass::kDone);
  decide(turn);
  if (!turn.looked && needs_look(turn.plan, turn.copy, ledger_, turn.looks))
    co_return std::optional<Pass>();
  if (turn.plan.action == CopyAction::kReadAnew) {
    auto read = co_await read_anew(turn);
    co_return read;
  }
  // Before a promise there is nothing to say: what comes of it is the first answer.
  if (turn.plan.action == CopyAction::kPromise) {
    auto promised = co_await act(turn);
    co_return promised;
  }
  auto answered = co_await answer(turn, kNoProblem);
  if (!answered) co_return answered.error();
  // Other orders wait for an answer meanwhile.
  if (turn.pace == Pace::kBrief && takes_long(turn.plan.action))
    co_return std::optional(Pass::kLater);
  if (turn.plan.action != CopyAction::kNone) {
    auto acted = co_await act(turn);
    co_return acted;
  }
  // What was just said may be what the next step waits for.
  if (*answered) co_return std::optional<Pass>();
  if (passes_by_itself(turn.plan.trouble))
    co_return Error(ErrorCode::kBusy, problem_of(turn.plan, turn.host, turn.copy)->message);
  co_return std::optional(Pass::kDone);
}

void CopyWorker::decide(Turn& turn) const {
  const auto& order = turn.copy.order;
  const engine::Inventory& seen = *ledger_.inventory();
  turn.host = order ? host_copy(seen, config_, *order, hand_.is_hopeless(turn.copy.name))
                    : HostCopy{.disk = DiskStage::kUnseen};
  // Where node.conf names the pool no more, what was promised may be on disks that are not seen.
  const bool was_here = turn.copy.status.promised || turn.copy.status.made;
  if (order && was_here && turn.host.disk == DiskStage::kNone &&
      !config_.pools.contains(order->volume.pool))
    turn.host.disk = DiskStage::kUnseen;
  const bool in_doubt = order && is_in_doubt(*order, turn.host, seen);
  turn.plan = plan_copy({&turn.copy, turn.fresh, in_doubt}, self_.identity, turn.host);
}

Task<CopyWorker::StepEnd> CopyWorker::read_anew(Turn& turn) {
  auto latest = co_await client_.read(turn.copy);
  if (!latest) co_return latest.error();
  if (!*latest) co_return std::optional(Pass::kDone);  // the watch brings what is there instead
  turn.copy = std::move(**latest);
  turn.fresh = true;
  co_return std::optional<Pass>();
}

Task<CopyWorker::StepEnd> CopyWorker::act(Turn& turn) {
  auto carried = co_await hand_.carry_out(turn.plan.action, turn.copy);
  turn.fresh = false;  // the host is another one now
  if (!carried) {
    auto failed = co_await fail(turn, carried.error());
    co_return failed;
  }
  if (carried->done) co_return std::optional<Pass>();
  if (carried->is_worth_a_write) {
    turn.wiped = carried->wiped;
    turn.plan.action = CopyAction::kNone;  // nothing is in its way any more
    auto answered = co_await answer(turn, kNoProblem);
    if (!answered) co_return answered.error();
  }
  co_return std::optional(Pass::kRequeue);
}

Task<CopyWorker::StepEnd> CopyWorker::fail(Turn& turn, const Error& error) {
  // Nothing is wrong with the order: this process ends, or the record was changed meanwhile.
  if (error.code() == ErrorCode::kCancelled || error.code() == ErrorCode::kConflict)
    co_return error;
  const CopyAction action = turn.plan.action;
  const bool refused = is_refusal(error);
  if (action == CopyAction::kPromise && refused)
    turn.plan = {CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused};
  const std::optional<CopyProblem> problem = problem_of(action, error);
  auto answered = co_await answer(turn, problem);
  if (!answered) co_return answered.error();
  // What was begun already is not given up, and tried again after a pause.
  const bool unmade =
      turn.host.record == RecordStage::kPromised && turn.host.disk == DiskStage::kNone;
  const bool given_up = action == CopyAction::kMake && unmade && hand_.is_hopeless(turn.copy.name);
  if (given_up) co_return std::optional<Pass>();
  // What there is no room for waits for another look at the node, or for another order.
  if (refused && (action == CopyAction::kPromise || action == CopyAction::kGrow))
    co_return std::optional(Pass::kDone);
  co_return error;
}

// Whether something was written.
Task<Result<bool>> CopyWorker::answer(Turn& turn, const std::optional<CopyProblem>& problem) {
  CopyStatus status = answer_to(turn.copy, turn.plan, turn.host, problem, self_.id, clock_.wall());
  if (turn.wiped) status.wiped = *turn.wiped;
  if (status == turn.copy.status) co_return false;
  auto written = co_await client_.answer(turn.copy, status);
  if (!written) co_return written.error();
  turn.copy = std::move(*written);
  co_return true;
}

}  // namespace flexlocal::provisioner
