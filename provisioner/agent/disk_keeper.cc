#include "provisioner/agent/disk_keeper.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/kube/backoff.h"

namespace flexlocal::provisioner {
namespace {

constexpr unsigned kThinFills = 50;  // percent

// Volumes that the engine's look may have completed the growth of.
bool has_growth_to_complete(const engine::Inventory& inventory) {
  return std::any_of(inventory.volumes.begin(), inventory.volumes.end(),
                     [&](const engine::LogicalVolume& volume) {
                       return volume.open && inventory.behind.contains(volume.name);
                     });
}

bool lacks_record(const engine::Inventory& inventory, const std::string& volume) {
  return !inventory.records.contains(volume);
}

// Volumes for which settle() may have made records anew.
bool has_records_to_make(const engine::Inventory& inventory) {
  return std::any_of(inventory.volumes.begin(), inventory.volumes.end(),
                     [&](const engine::LogicalVolume& volume) {
                       return volume.ownership && volume.ownership->ready &&
                              !volume.ownership->wiping && lacks_record(inventory, volume.name);
                     }) ||
         std::any_of(inventory.folders.begin(), inventory.folders.end(),
                     [&](const engine::OwnedFolder& folder) {
                       return lacks_record(inventory, folder.name);
                     });
}

// Whether a thin pool may be full soon: what is written to its volumes is no event, and who watches
// it goes by what the last look saw.
bool fills(const engine::Inventory& inventory) {
  return std::any_of(inventory.spaces.begin(), inventory.spaces.end(),
                     [](const engine::Space& space) {
                       const auto& use = space.thin_use;
                       return use && std::max(use->data, use->metadata) >= kThinFills;
                     });
}

// In which volume groups nothing is done, and why.
Status outdated_groups(const engine::Inventory& inventory) {
  std::string all;
  for (const auto& [group, why] : inventory.outdated) all += concat(all.empty() ? "" : "; ", why);
  return all.empty() ? Status() : Error(ErrorCode::kCorrupt, all);
}

}  // namespace

Task<void> DiskKeeper::tidy() {
  unsigned failures = 0;
  for (;;) {
    note_events(storage_.events().arm());
    auto tidied = co_await tidy_once();
    state_.tidied = tidied;
    untidy_.look(tidied, log_, "records and tags could not be brought together");
    tidied_();
    failures = tidied ? 0 : failures + 1;
    Status rested;
    if (tidied)
      rested = co_await rest();
    else
      rested = co_await kube::sleep_for(pause(intervals_.failed_tidy, failures - 1));
    if (!rested) co_return;
  }
}

// First no look comes for a change: volumes are made and removed by the dozen, and what the last
// look did itself shows as a change, too.
Task<Status> DiskKeeper::rest() {
  auto slept = co_await kube::sleep_for(pause(intervals_.changed, changes_));
  if (!slept) co_return slept;
  auto changed = co_await await_change();
  if (!changed) co_return changed.error();
  if (!*changed) co_return Status();
  ++changes_;
  auto gathered = co_await kube::sleep_for(intervals_.gather);
  co_return gathered;
}

// False: the time for a look has come without.
Task<Result<bool>> DiskKeeper::await_change() {
  const auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(
      intervals_.tidy * (0.9 + 0.2 * random_.unit()));
  std::chrono::nanoseconds waited{};
  while (waited < most) {
    const auto turn = std::min<std::chrono::nanoseconds>(most - waited, intervals_.unsettled);
    auto changed = co_await storage_.events().wait(turn);
    if (!changed || *changed) co_return changed;
    changes_ = 0;
    if (!armed_ || is_unsettled()) break;
    waited += turn;
  }
  co_return false;
}

std::chrono::nanoseconds DiskKeeper::pause(std::chrono::milliseconds first, unsigned times) const {
  return kube::backoff_delay({first, intervals_.unsettled}, times);
}

// Once for as long as it lasts: it is no trouble.
void DiskKeeper::note_events(const Status& armed) {
  if (!armed && armed_)
    log_.info("the kernel does not tell of changed volumes: the disks are looked at each minute",
              {{"why", armed.error().message()}});
  armed_ = armed;
}

bool DiskKeeper::is_unsettled() const {
  const engine::Inventory* const seen = ledger_.last_seen();
  return seen == nullptr || !seen->behind.empty() || !seen->outdated.empty() ||
         has_records_to_make(*seen) || fills(*seen) || is_waited_for_();
}

Task<void> DiskKeeper::refresh_io_limits() {
  co_await repeat(&Storage::refresh_io_limits, intervals_.limits,
                  "a pod's I/O is not limited as its class says");
}

Task<void> DiskKeeper::resume_suspended() {
  co_await repeat(&Storage::resume_suspended, intervals_.resume,
                  "a volume's device stays suspended, so that its pods wait");
}

Task<void> DiskKeeper::repeat(Task<Status> (Storage::*look)(), std::chrono::milliseconds interval,
                              std::string trouble) {
  LastingTrouble lasting;
  for (;;) {
    auto looked = co_await (storage_.*look)();
    lasting.look(looked, log_, trouble);
    auto slept = co_await kube::sleep_for(interval);
    if (!slept) co_return;
  }
}

Task<Status> DiskKeeper::tidy_once() {
  auto refreshed = co_await ledger_.refresh(true);
  if (!refreshed) co_return refreshed;
  const engine::Inventory inventory = *ledger_.inventory();
  outdated_groups_.look(outdated_groups(inventory), log_,
                        "nothing is made, grown or removed in a volume group");
  auto settled = co_await storage_.settle(inventory);
  if (!has_growth_to_complete(inventory) && !has_records_to_make(inventory)) co_return settled;
  // What was done is gone on with now, and not by the next round: the claim of a growth that was
  // completed is told, and records that were made anew get the claim that their pods wait for.
  auto seen = co_await ledger_.refresh(true);
  co_return settled ? seen : settled;
}

}  // namespace flexlocal::provisioner
