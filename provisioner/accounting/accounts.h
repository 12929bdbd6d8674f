// What a node's volumes have, volume by volume, and the sums of it: exact, and nothing else in this
// file. A change costs what that one volume costs, and a question does not depend on how many
// volumes there are, save those with a layout that are still to be made.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "provisioner/accounting/room.h"

namespace flexlocal::provisioner {

// All that is known of one volume.
struct VolumeAccount {
  std::optional<Promise> recorded{};          // by this host's record
  bool to_be_made = false;                    // as the record says
  std::map<std::string, Promise> reserved{};  // by claim: what is being created, or grown
  std::map<std::string, Bytes> held{};        // by space: what it offers now

  bool is_empty() const { return !recorded && reserved.empty() && held.empty(); }
};

class Accounts {
 public:
  // `config` must outlive this.
  explicit Accounts(const engine::NodeConfig& config);
  Accounts(const Accounts&) = delete;
  Accounts& operator=(const Accounts&) = delete;

  // What the disks say, in place of what they said before.
  void see(const engine::Inventory& inventory);
  // A record that was written since; and one that was taken away. Only what is still to be made is
  // promised by its record.
  void see_record(const engine::Record& record);
  void forget_record(const std::string& volume);
  // For a claim, in place of what was reserved for it; and when there is no more need.
  void reserve(const std::string& claim, const Promise& promise);
  void release(const std::string& claim);
  bool has_reservations() const { return !reserved_.empty(); }

  // Room for `wanted` beside what is promised and reserved, but for the claim itself. A volume
  // counts once, at the largest size that is named, and only with what it does not offer yet: what
  // exists is missing from the space itself. A volume that is being removed still exists, so its
  // space is not offered before it is really free.
  //
  // `wanted` may be a volume that exists and is to grow: `held` is then not among what is free.
  //
  // kNotFound, in words, when the node has no such pool, the pool has no volumes of that backend,
  // or what they would lie on is not to be seen.
  Result<PoolRoom> room(const Promise& wanted, const std::string& claim) const;

  // What the pool's volumes have in all, without `volume` and without what is reserved for the
  // claim: what records promise, what is being created or grown, and what is there, with a record
  // or without one. A volume counts once, at the largest size that is named.
  Bytes given(const std::string& pool, const std::string& volume, const std::string& claim) const;

 private:
  // Sums may be taken back, so they must not stick at a largest count as Bytes do.
  __extension__ using Sum = unsigned __int128;

  struct SpaceAccount {
    engine::Space space;
    Sum cost = 0;
    Sum on_each_disk = 0;
    std::map<std::string, Demand> with_layout{};  // by volume
  };
  // What one volume has of the sums.
  struct Share {
    std::map<std::string_view, Demand> demands{};  // by space: the names are those of spaces_
    std::map<std::string, Bytes> given{};          // by pool
  };
  // A volume that a question counts in another way: `instead` of what it is in the sums.
  struct Exception {
    std::string volume;
    Share counted;
    Share instead{};
  };
  // Of a space, by all but the volume that is asked for.
  struct Taken {
    Sum cost = 0;
    Sum on_each_disk = 0;
    std::vector<const Demand*> with_layout{};
  };

  template <typename Change>
  void change(const std::string& volume, Change change);
  Share share_of(const VolumeAccount& account) const;
  void add_demands(const VolumeAccount& account, Share& share) const;
  void add_given(const VolumeAccount& account, Share& share) const;
  void add(const std::string& volume, const Share& share);
  void subtract(const std::string& volume, const Share& share);
  std::vector<Exception> exceptions(const std::string& volume, const std::string& claim) const;
  static Taken taken_of(const SpaceAccount& space, const std::vector<Exception>& exceptions);

  const engine::NodeConfig& config_;
  std::unordered_map<std::string, VolumeAccount> volumes_;
  std::map<std::string, std::string> reserved_;  // by claim, the volume
  std::map<std::string, SpaceAccount, std::less<>> spaces_;
  std::map<std::string, Sum, std::less<>> given_;             // by pool
  std::map<std::string, std::vector<std::string>> pools_in_;  // by space
};

}  // namespace flexlocal::provisioner
