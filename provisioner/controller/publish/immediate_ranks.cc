#include "provisioner/controller/publish/immediate_ranks.h"

#include "provisioner/controller/view/work_keys.h"

namespace flexlocal::provisioner {

ImmediateRanks::ImmediateRanks(const ClusterView& view, CapacitySurvey& survey, ClaimTaker& taker,
                               kube::WorkQueue& queue, const Clock& clock)
    : view_(view),
      survey_(survey),
      queue_(queue),
      placer_(view, survey, taker, clock,
              [this](const std::string& claim, std::chrono::nanoseconds after) {
                queue_.add_after(concat(kClaimKey, claim), after);
              }) {}

// What is told is kept of known classes only.
Task<void> ImmediateRanks::follow_rooms() {
  const auto classes = co_await view_.classes.wait_synced();
  if (classes) co_await survey_.run();
}

// What others go first for, for longer than a round.
Task<void> ImmediateRanks::follow_rounds() {
  for (;;) {
    const auto slept = co_await kube::sleep_for(RankPlacer::kRound);
    if (!slept) co_return;
    for (const std::string& claim : placer_.next_round())
      if (notice(claim)) queue_.add(concat(kClaimKey, claim));
  }
}

bool ImmediateRanks::notice(const std::string& claim) {
  if (!placer_.notice(claim)) return false;
  const auto later = placer_.others_first(claim);
  if (later && *later <= RankPlacer::kRound) queue_.add_after(concat(kClaimKey, claim), *later);
  return !later;
}

Task<Status> ImmediateRanks::work(const std::string& claim) {
  const auto requeue = co_await placer_.work(claim);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kClaimKey, claim), **requeue);
  co_return Status();
}

void ImmediateRanks::enqueue_asking() {
  for (const std::string& claim : placer_.asking()) queue_.add(concat(kClaimKey, claim));
}

}  // namespace flexlocal::provisioner
