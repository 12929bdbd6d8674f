#include "provisioner/accounting/accounts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace flexlocal::provisioner {
namespace {

constexpr std::array kBackends{engine::Backend::kLvm, engine::Backend::kThin,
                               engine::Backend::kQuota};

// The pool that has said it is its own; nullptr: a volume of which no more than the disks is known.
const std::string* pool_of(const VolumeAccount& account) {
  if (account.recorded) return &account.recorded->pool;
  return account.reserved.empty() ? nullptr : &account.reserved.begin()->second.pool;
}

Bytes held_in(const VolumeAccount& account, const std::string& space) {
  const auto held = account.held.find(space);
  return held == account.held.end() ? Bytes() : held->second;
}

void raise(Bytes& known, Bytes size) { known = std::max(known, size); }

void record_in(VolumeAccount& account, const engine::Record& record) {
  const engine::RecordState state = record.state;
  account.recorded.reset();
  account.to_be_made = state == engine::RecordState::kPromised ||
                       state == engine::RecordState::kIntent || state == engine::RecordState::kNew;
  const engine::VolumeSpec& spec = record.spec;
  if (account.to_be_made || state == engine::RecordState::kReady)
    account.recorded = Promise{spec.name.text(), spec.backend, spec.pool, spec.size};
}

// What was ready once counts where the disks show it: a record whose disk is gone takes no room for
// ever.
bool counts_record(const VolumeAccount& account) {
  return account.recorded && (account.to_be_made || !account.held.empty());
}

template <typename Visit>
void for_each_promise(const VolumeAccount& account, Visit visit) {
  if (counts_record(account)) visit(*account.recorded);
  for (const auto& [claim, promise] : account.reserved) visit(promise);
}

template <typename Sum>
Bytes to_bytes(Sum sum) {
  return Bytes(sum > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(sum));
}

}  // namespace

Accounts::Accounts(const engine::NodeConfig& config) : config_(config) {
  for (const auto& [name, pool] : config.pools)
    for (const auto backend : kBackends)
      if (const std::string id = engine::space_id(backend, name, pool); !id.empty())
        pools_in_[id].push_back(name);
}

void Accounts::see(const engine::Inventory& inventory) {
  for (auto& [name, account] : volumes_) {
    account.held.clear();
    account.recorded.reset();
  }
  for (const auto& [name, record] : inventory.records) record_in(volumes_[name], record);
  for (const engine::Holding& holding : inventory.holdings)
    raise(volumes_[holding.volume].held[holding.space], holding.size);
  std::erase_if(volumes_, [](const auto& entry) { return entry.second.is_empty(); });
  spaces_.clear();
  given_.clear();
  for (const engine::Space& space : inventory.spaces)
    spaces_.try_emplace(space.id, SpaceAccount{space});
  for (const auto& [name, account] : volumes_) add(name, share_of(account));
}

void Accounts::see_record(const engine::Record& record) {
  change(record.spec.name.text(), [&](VolumeAccount& account) { record_in(account, record); });
}

void Accounts::forget_record(const std::string& volume) {
  change(volume, [](VolumeAccount& account) { account.recorded.reset(); });
}

void Accounts::reserve(const std::string& claim, const Promise& promise) {
  release(claim);
  reserved_.emplace(claim, promise.name);
  change(promise.name, [&](VolumeAccount& account) { account.reserved.emplace(claim, promise); });
}

void Accounts::release(const std::string& claim) {
  const auto found = reserved_.find(claim);
  if (found == reserved_.end()) return;
  change(found->second, [&](VolumeAccount& account) { account.reserved.erase(claim); });
  reserved_.erase(found);
}

Result<PoolRoom> Accounts::room(const Promise& wanted, const std::string& claim) const {
  const auto place = find_place(wanted, config_);
  if (!place) return place.error();
  const auto seen = spaces_.find(place->space);
  if (seen == spaces_.end()) return not_seen(wanted, place->pool);
  const engine::Space& space = seen->second.space;
  const auto account = volumes_.find(wanted.name);
  PoolRoom room{place->pool, space.unit, {}};
  if (account != volumes_.end()) room.held = held_in(account->second, place->space);
  const std::vector<Exception> apart = exceptions(wanted.name, claim);
  const Taken others = taken_of(seen->second, apart);
  room.free = space.free - to_bytes(others.cost);
  const Demand own = demand_of(wanted, place->pool, space.unit, room.held);
  const Bytes on_each_disk = to_bytes(others.on_each_disk + own.most_on_one_disk.count());
  room.disks_suffice =
      finds_disks(own, space, on_each_disk) &&
      std::all_of(others.with_layout.begin(), others.with_layout.end(),
                  [&](const Demand* demand) { return finds_disks(*demand, space, on_each_disk); });
  return room;
}

Bytes Accounts::given(const std::string& pool, const std::string& volume,
                      const std::string& claim) const {
  const auto sum = given_.find(pool);
  Sum given = sum == given_.end() ? 0 : sum->second;
  for (const Exception& exception : exceptions(volume, claim)) {
    const auto count = [&](const Share& share) {
      const auto has = share.given.find(pool);
      return has == share.given.end() ? Sum(0) : Sum(has->second.count());
    };
    given = given - count(exception.counted) + count(exception.instead);
  }
  return to_bytes(given);
}

template <typename Change>
void Accounts::change(const std::string& volume, Change change) {
  const auto account = volumes_.try_emplace(volume).first;
  subtract(volume, share_of(account->second));
  change(account->second);
  add(volume, share_of(account->second));
  if (account->second.is_empty()) volumes_.erase(account);
}

Accounts::Share Accounts::share_of(const VolumeAccount& account) const {
  Share share;
  add_demands(account, share);
  add_given(account, share);
  return share;
}

// In each space the largest promise counts.
void Accounts::add_demands(const VolumeAccount& account, Share& share) const {
  std::map<std::string_view, Bytes> largest;
  for_each_promise(account, [&](const Promise& promise) {
    const auto place = find_place(promise, config_);
    const auto space = place ? spaces_.find(place->space) : spaces_.end();
    if (space == spaces_.end()) return;
    const auto known = largest.find(space->first);
    if (known != largest.end() && known->second >= promise.size) return;
    largest.insert_or_assign(space->first, promise.size);
    share.demands.insert_or_assign(
        space->first,
        demand_of(promise, place->pool, space->second.space.unit, held_in(account, space->first)));
  });
  std::erase_if(share.demands, [](const auto& entry) { return entry.second.cost == Bytes(); });
}

// Pools may share a space: what lies there is of the pool that promised it, or of any.
void Accounts::add_given(const VolumeAccount& account, Share& share) const {
  for_each_promise(account,
                   [&](const Promise& promise) { raise(share.given[promise.pool], promise.size); });
  const std::string* const own = pool_of(account);
  for (const auto& [space, size] : account.held) {
    const auto pools = pools_in_.find(space);
    if (pools == pools_in_.end()) continue;
    for (const std::string& pool : pools->second)
      if (own == nullptr || *own == pool) raise(share.given[pool], size);
  }
}

void Accounts::add(const std::string& volume, const Share& share) {
  for (const auto& [id, demand] : share.demands) {
    SpaceAccount& space = spaces_.find(id)->second;
    space.cost += demand.cost.count();
    space.on_each_disk += demand.most_on_one_disk.count();
    if (demand.has_layout()) space.with_layout.insert_or_assign(volume, demand);
  }
  for (const auto& [pool, size] : share.given) given_[pool] += size.count();
}

void Accounts::subtract(const std::string& volume, const Share& share) {
  for (const auto& [id, demand] : share.demands) {
    SpaceAccount& space = spaces_.find(id)->second;
    space.cost -= demand.cost.count();
    space.on_each_disk -= demand.most_on_one_disk.count();
    space.with_layout.erase(volume);
  }
  for (const auto& [pool, size] : share.given) given_.find(pool)->second -= size.count();
}

// The volume itself is none of the others, and a claim is not in its own way.
std::vector<Accounts::Exception> Accounts::exceptions(const std::string& volume,
                                                      const std::string& claim) const {
  std::vector<Exception> out;
  if (const auto own = volumes_.find(volume); own != volumes_.end())
    out.push_back({volume, share_of(own->second)});
  const auto ticket = reserved_.find(claim);
  if (ticket == reserved_.end() || ticket->second == volume) return out;
  const VolumeAccount& other = volumes_.find(ticket->second)->second;
  VolumeAccount without = other;
  without.reserved.erase(claim);
  out.push_back({ticket->second, share_of(other), share_of(without)});
  return out;
}

Accounts::Taken Accounts::taken_of(const SpaceAccount& space,
                                   const std::vector<Exception>& exceptions) {
  Taken taken{space.cost, space.on_each_disk};
  const auto is_apart = [&](const std::string& volume) {
    return std::any_of(exceptions.begin(), exceptions.end(),
                       [&](const Exception& apart) { return apart.volume == volume; });
  };
  for (const auto& [volume, demand] : space.with_layout)
    if (!is_apart(volume)) taken.with_layout.push_back(&demand);
  for (const Exception& apart : exceptions) {
    if (const auto counted = apart.counted.demands.find(space.space.id);
        counted != apart.counted.demands.end()) {
      taken.cost -= counted->second.cost.count();
      taken.on_each_disk -= counted->second.most_on_one_disk.count();
    }
    const auto instead = apart.instead.demands.find(space.space.id);
    if (instead == apart.instead.demands.end()) continue;
    taken.cost += instead->second.cost.count();
    taken.on_each_disk += instead->second.most_on_one_disk.count();
    if (instead->second.has_layout()) taken.with_layout.push_back(&instead->second);
  }
  return taken;
}

}  // namespace flexlocal::provisioner
