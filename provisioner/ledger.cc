#include "provisioner/ledger.h"

#include <algorithm>

#include "provisioner/budget.h"

namespace flexlocal::provisioner {
namespace {

// Only what others do to the disks makes it grow stale: our own volumes are counted.
constexpr auto kFresh = std::chrono::seconds(10);

Promise promise_of(const engine::VolumeSpec& spec) {
  return {spec.name.text(), spec.backend, spec.pool, spec.size};
}

// The size among its options stays the first one for ever. Its capacity is not asked: the expand
// controller raises that to whatever a claim asks for, whether there is room or not.
Promise promise_of(const engine::VolumeSpec& spec, const Volume& volume) {
  Promise promise = promise_of(spec);
  if (const auto granted = parse_quantity(volume.granted); granted && *granted > promise.size)
    promise.size = *granted;
  return promise;
}

}  // namespace

Ledger::Ledger(Storage& storage, const engine::NodeConfig& config, kube::Informer<Volume>& volumes,
               const Clock& clock, std::string node)
    : storage_(storage), config_(config), volumes_(volumes), clock_(clock), node_(std::move(node)) {
  volumes.on_change([this](const std::string& volume) { count(volume); });
}

Task<Status> Ledger::refresh(bool anew) {
  if (!anew && inventory_ && clock_.now() - taken_ < kFresh) co_return Status();
  const auto asked = clock_.now();
  auto inventory = co_await storage_.inventory();
  if (!inventory) {
    trouble_ = inventory.error();
    co_return inventory.error();
  }
  trouble_.reset();
  outdated_.reset();
  inventory_ = std::move(*inventory);
  taken_ = asked;
  co_return Status();
}

const engine::Inventory* Ledger::last_seen() const {
  if (inventory_) return &*inventory_;
  return outdated_ ? &*outdated_ : nullptr;
}

Result<PoolRoom> Ledger::room(const Promise& wanted, const std::string& claim) const {
  if (!inventory_) return Error(ErrorCode::kUnavailable, "the disks have not been looked at yet");
  return room_for(wanted, config_, *inventory_, promised(claim));
}

Bytes Ledger::given(const std::string& pool, const std::string& volume,
                    const std::string& claim) const {
  const engine::Inventory* const seen = last_seen();
  return given_in(pool, config_, seen == nullptr ? engine::Inventory() : *seen, promised(claim),
                  volume);
}

void Ledger::reserve(const std::string& claim, const engine::VolumeSpec& spec) {
  reserve(claim, promise_of(spec));
}

// One that does not say enough promises nothing.
void Ledger::count(const std::string& volume) {
  auto place = place_of(volume);
  const bool counted = place != promised_.end() && (*place)->promise.name == volume;
  const Volume* const known = volumes_.get(volume);
  const bool here = known != nullptr && known->node == node_;
  if (counted && here && (*place)->is_of(*known)) return;
  if (counted) place = promised_.erase(place);
  if (!here) return;
  if (const auto spec = spec_of(*known))
    promised_.insert(place,
                     std::make_unique<const Counted>(Counted{promise_of(*spec, *known), known->uid,
                                                             known->claim_uid, known->granted}));
}

Ledger::Promises::iterator Ledger::place_of(const std::string& volume) {
  return std::lower_bound(
      promised_.begin(), promised_.end(), volume,
      [](const auto& counted, const std::string& name) { return counted->promise.name < name; });
}

Promised Ledger::promised(const std::string& except_claim) const {
  Promised out;
  out.by_name.reserve(promised_.size());
  for (const auto& counted : promised_) out.by_name.push_back(&counted->promise);
  for (const auto& [claim, promise] : reserved_)
    if (claim != except_claim) out.more.push_back(&promise);
  return out;
}

}  // namespace flexlocal::provisioner
