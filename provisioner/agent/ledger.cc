#include "provisioner/agent/ledger.h"

#include <algorithm>

#include "provisioner/objects/copy_roll.h"

namespace flexlocal::provisioner {
namespace {

// Only what others do to the disks makes it grow stale: our own volumes are counted.
constexpr auto kFresh = std::chrono::seconds(10);
// Somewhat above the pause between the looks of DiskKeeper, when nothing changes.
constexpr auto kComparable = std::chrono::minutes(6);
// Several heartbeats.
constexpr auto kNewFor = std::chrono::minutes(1);

Error disks_not_seen() {
  return {ErrorCode::kUnavailable, "the disks have not been looked at yet"};
}

}  // namespace

// A look that ends after a later one says nothing new, unless something was removed since: then
// what that one saw is forgotten, and what this one saw is older still.
Task<Status> Ledger::refresh(bool anew) {
  if (!anew && is_current() && clock_.now() - taken_ < kFresh) co_return Status();
  for (;;) {
    const auto asked = clock_.now();
    const std::uint64_t look = ++begun_;
    auto inventory = co_await storage_.inventory();
    if (!inventory) {
      trouble_ = inventory.error();
      co_return inventory.error();
    }
    trouble_.reset();
    if (shown_ > look && inventory_) co_return Status();
    if (shown_ > look) continue;
    replace(std::move(*inventory), look, asked);
    co_return Status();
  }
}

bool Ledger::is_fresh() const {
  return is_current() && clock_.now() - std::max(taken_, compared_) < kFresh;
}

Task<Status> Ledger::refresh_for_new() {
  if (is_fresh()) co_return Status();
  const bool same = co_await is_as_seen();
  if (same) co_return Status();
  auto looked = co_await refresh(true);
  co_return looked;
}

// What was removed, or seen by another look, while the metadata were read is for a look to say.
// Where the last look failed, what would be promised could not be made.
Task<bool> Ledger::is_as_seen() {
  const auto asked = clock_.now();
  if (trouble_ || !is_current() || inventory_->heads.empty() || asked - taken_ >= kComparable)
    co_return false;
  const std::uint64_t shown = shown_;
  const MetadataHeads heads = inventory_->heads;
  const bool same = co_await storage_.is_as_seen(heads);
  if (!same || !is_current() || shown_ != shown) co_return is_fresh();
  compared_ = std::max(compared_, asked);
  co_return true;
}

void Ledger::replace(engine::Inventory inventory, std::uint64_t look, Clock::Instant asked) {
  note_new_records(inventory);
  outdated_.reset();
  inventory_ = std::move(inventory);
  accounts_.see(*inventory_);
  taken_ = asked;
  shown_ = look;
  std::erase_if(patches_, [&](const Patch& patch) { return patch.looks < look; });
  for (const Patch& patch : patches_) apply(patch);
}

void Ledger::see_record(const engine::Record& record) {
  patch({begun_, record.spec.name.text(), record});
  if (record.state == engine::RecordState::kPromised) note_promise(record.spec);
}

// Nobody may have heard yet of those that were written just before this daemon was started, or by a
// promise that ended in an error: most likely of what is not made.
void Ledger::note_new_records(const engine::Inventory& inventory) {
  const engine::Inventory* const before = last_seen();
  for (const bool unmade : {false, true})
    for (const auto& [volume, record] : inventory.records)
      if (engine::is_unmade(record.state) == unmade &&
          (before == nullptr || !before->records.contains(volume)))
        note_promise(record.spec);
}

// A record is written again where only the order changed.
void Ledger::note_promise(const engine::VolumeSpec& spec) {
  const bool known = std::ranges::any_of(new_promises_, [&](const NewPromise& promise) {
    return promise.volume == spec.name.text() && promise.copy == spec.copy;
  });
  if (known) return;
  new_promises_.push_back({spec.name.text(), spec.copy, clock_.now()});
  if (new_promises_.size() > kMostCounted) new_promises_.pop_front();
}

std::vector<std::string> Ledger::new_promises() {
  const auto now = clock_.now();
  std::erase_if(new_promises_,
                [&](const NewPromise& promise) { return now - promise.written > kNewFor; });
  std::vector<std::string> copies;
  for (const NewPromise& promise : new_promises_) copies.push_back(promise.copy);
  return copies;
}

void Ledger::forget_record(const std::string& volume) {
  patch({begun_, volume, std::nullopt});
  std::erase_if(new_promises_, [&](const NewPromise& promise) { return promise.volume == volume; });
}

bool Ledger::has_removed(const std::string& volume) const {
  const auto last = std::find_if(patches_.rbegin(), patches_.rend(),
                                 [&](const Patch& patch) { return patch.volume == volume; });
  return last != patches_.rend() && !last->record;
}

void Ledger::patch(Patch patch) {
  apply(patch);
  patches_.push_back(std::move(patch));
}

void Ledger::apply(const Patch& patch) {
  if (patch.record)
    accounts_.see_record(*patch.record);
  else
    accounts_.forget_record(patch.volume);
  if (!inventory_) return;
  if (patch.record)
    inventory_->records.insert_or_assign(patch.volume, *patch.record);
  else
    inventory_->records.erase(patch.volume);
}

const engine::Inventory* Ledger::last_seen() const {
  if (inventory_) return &*inventory_;
  return outdated_ ? &*outdated_ : nullptr;
}

Result<PoolRoom> Ledger::room(const Promise& wanted, const std::string& claim) const {
  if (!inventory_) return disks_not_seen();
  return accounts_.room(wanted, claim);
}

Result<PoolRoom> Ledger::last_room(const Promise& wanted) const {
  if (last_seen() == nullptr) return disks_not_seen();
  return accounts_.room(wanted, "");
}

void Ledger::reserve(const std::string& volume, const engine::VolumeSpec& spec) {
  accounts_.reserve(volume, promise_of(spec));
}

}  // namespace flexlocal::provisioner
