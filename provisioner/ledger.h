// What this node's pools have given away: the daemon's one place for it.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/clock.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects.h"
#include "provisioner/room.h"
#include "provisioner/storage.h"

namespace flexlocal::provisioner {

// Tasks may ask at once; between an answer and reserve() nothing may be awaited, or two claims
// could take the same last byte.
class Ledger {
 public:
  // To be made before `volumes` takes anything in, and to be kept as long as it does: what they
  // promise is counted change by change.
  Ledger(Storage& storage, const engine::NodeConfig& config, kube::Informer<Volume>& volumes,
         const Clock& clock, std::string node);
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // Makes sure that what the disks say is known, and no older than a few seconds; `anew` asks
  // them in any case, which costs what Engine::inventory does.
  Task<Status> refresh(bool anew);
  // Forgets what the disks said: something was removed.
  void forget() {
    if (inventory_) outdated_ = std::move(inventory_);
    inventory_.reset();
  }

  // After a refresh(): room for what the claim asks for, as room_for() has it. What is reserved for
  // the claim itself counts as free.
  Result<PoolRoom> room(const Promise& wanted, const std::string& claim) const;

  // What the pool's volumes have in all but `volume`, as given_in() has it; what is reserved for
  // the claim itself does not count.
  Bytes given(const std::string& pool, const std::string& volume, const std::string& claim) const;

  // For a claim, from the decision until its PersistentVolume is known, or it is certain that
  // there will be none. A create without an answer may have been carried out: it stays reserved.
  void reserve(const std::string& claim, const engine::VolumeSpec& spec);
  // The same for what a volume grows to, until its PersistentVolume is known to say so.
  void reserve(const std::string& claim, const Promise& promise) {
    reserved_.insert_or_assign(claim, promise);
  }
  void release(const std::string& claim) { reserved_.erase(claim); }
  bool has_reservations() const { return !reserved_.empty(); }

  const std::optional<engine::Inventory>& inventory() const { return inventory_; }

  // For people, not for decisions: what the disks said last, forgotten or not; nullptr before the
  // first look. And what went wrong with the last look, if it did.
  const engine::Inventory* last_seen() const;
  const std::optional<Error>& trouble() const { return trouble_; }

 private:
  // What is promised by a PersistentVolume, and of what it was read from that which can change; its
  // options cannot (ValidatePersistentVolumeUpdate in pkg/apis/core/validation).
  struct Counted {
    Promise promise;
    std::string uid, claim_uid, granted;

    bool is_of(const Volume& volume) const {
      return uid == volume.uid && claim_uid == volume.claim_uid && granted == volume.granted;
    }
  };
  // In order of name, side by side for whoever goes through all of them.
  using Promises = std::vector<std::unique_ptr<const Counted>>;

  void count(const std::string& volume);
  Promises::iterator place_of(const std::string& volume);
  Promised promised(const std::string& except_claim) const;

  Storage& storage_;
  const engine::NodeConfig& config_;
  const kube::Informer<Volume>& volumes_;
  const Clock& clock_;
  std::string node_;
  std::optional<engine::Inventory> inventory_;
  std::optional<engine::Inventory> outdated_;
  std::optional<Error> trouble_;
  Clock::Instant taken_{};
  // Of this node's PersistentVolumes, by name: what they say is read when they change, not for
  // every claim that asks for room beside them.
  Promises promised_;
  std::map<std::string, Promise> reserved_;  // by claim
};

}  // namespace flexlocal::provisioner
