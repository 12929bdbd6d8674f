// What this node's pools have given away: the daemon's one place for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/clock.h"
#include "provisioner/accounting/accounts.h"
#include "provisioner/agent/storage.h"
#include "provisioner/kube/async.h"

namespace flexlocal::provisioner {

// Tasks may ask at once; between an answer and reserve() nothing may be awaited, or two volumes
// could take the same last byte.
class Ledger {
 public:
  Ledger(Storage& storage, const engine::NodeConfig& config, const Clock& clock)
      : storage_(storage), clock_(clock), accounts_(config) {}
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Makes sure that what the disks say is known, and no older than a few seconds; `anew` asks
  // them in any case, which costs what Engine::inventory does.
  Task<Status> refresh(bool anew);
  // The same for a promise of what is new. Room, and that nothing of the volume is there, is in
  // LVM's metadata: where they are as the last look saw them, it is good for some minutes, and no
  // program is started. Whether a volume is open or mounted is not in them.
  Task<Status> refresh_for_new();
  // Forgets what the disks said: something was removed.
  void forget() {
    if (inventory_) outdated_ = std::move(inventory_);
    inventory_.reset();
    forgotten_ = begun_;
  }
  // A record that was written, or taken away, since the disks were looked at. Neither changes what
  // is on them.
  void see_record(const engine::Record& record);
  void forget_record(const std::string& volume);
  // Whether its record was taken away since, so that last_seen() may show what is there no more.
  bool has_removed(const std::string& volume) const;
  // Ids of the copies whose promise was written within the last minute, or before the daemon was
  // started and seen within that, the latest kMostCounted of
  // them, in that order: what room() and given() say has them. What is only reserved is not named:
  // its promise may still fail.
  std::vector<std::string> new_promises();
  // How many looks at the disks were begun, and whether what is known is of a later one.
  std::uint64_t looks() const { return begun_; }
  bool has_looked_since(std::uint64_t looks) const { return inventory_ && shown_ > looks; }
  // Whether records and disks are as one look saw them: the records before the disks, so that what
  // a record calls ready and the disks do not have is gone.
  bool is_of_one_look() const { return is_current() && patches_.empty(); }
  // Whether what is known was asked for after all that was removed. A look that a removal came into
  // may still have seen what was removed.
  bool is_current() const { return inventory_ && shown_ > forgotten_; }

  // After a refresh(): room for what the claim asks for, as Accounts::room() has it.
  Result<PoolRoom> room(const Promise& wanted, const std::string& claim) const;

  // The same by the last look, forgotten or not, for what is told and not decided: what was removed
  // since still takes room in it, and what was promised since does, too.
  Result<PoolRoom> last_room(const Promise& wanted) const;

  // As Accounts::given() has it, by the last look at the disks.
  Bytes given(const std::string& pool, const std::string& volume, const std::string& claim) const {
    return accounts_.given(pool, volume, claim);
  }

  // For a volume, from the decision until its record is written, or it is certain that there will
  // be none.
  void reserve(const std::string& volume, const engine::VolumeSpec& spec);
  void release(const std::string& volume) { accounts_.release(volume); }
  bool has_reservations() const { return accounts_.has_reservations(); }

  const std::optional<engine::Inventory>& inventory() const { return inventory_; }

  // For people, not for decisions: what the disks said last, forgotten or not; nullptr before the
  // first look. And what went wrong with the last look, if it did.
  const engine::Inventory* last_seen() const;
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  // A record that was written or taken away while no more than `looks` looks were begun.
  struct Patch {
    std::uint64_t looks;
    std::string volume;
    std::optional<engine::Record> record;
  };

  struct NewPromise {
    std::string volume, copy;
    Clock::Instant written;
  };

  bool is_fresh() const;
  Task<bool> is_as_seen();
  void note_promise(const engine::VolumeSpec& spec);
  void note_new_records(const engine::Inventory& inventory);
  void replace(engine::Inventory inventory, std::uint64_t look, Clock::Instant asked);
  void patch(Patch patch);
  void apply(const Patch& patch);

  Storage& storage_;
  const Clock& clock_;
  std::optional<engine::Inventory> inventory_;
  std::optional<engine::Inventory> outdated_;
  std::optional<Error> trouble_;
  Clock::Instant taken_{};     // when the look was begun
  Clock::Instant compared_{};  // when it was found to be still so
  // Looks at the disks: how many were begun, which of them `inventory_` is of, and how many of the
  // first are outdated.
  std::uint64_t begun_ = 0, shown_ = 0, forgotten_ = 0;
  std::vector<Patch> patches_;  // that the look which is shown may have missed
  std::deque<NewPromise> new_promises_;
  Accounts accounts_;
};

}  // namespace flexlocal::provisioner
