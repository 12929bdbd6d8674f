#include "provisioner/agent/copy_hand.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/agent/host_copy.h"

namespace flexlocal::provisioner {
namespace {

// Room, tools and names that are wrong now are wrong at the next try; all else may pass.
bool is_hopeless_error(const Error& error) {
  return is_refusal(error) || error.code() == ErrorCode::kDenied;
}

}  // namespace

Task<Result<CopyProgress>> CopyHand::carry_out(CopyAction action, const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  engine::OrderedCopy ordered = ordered_copy(copy, order);
  Status carried;
  switch (action) {
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
      break;
    case CopyAction::kPromise:
      carried = co_await promise(copy);
      break;
    case CopyAction::kAdopt:
      carried = co_await adopt(order);
      break;
    case CopyAction::kClose:
      ordered.claim_uid.clear();
      carried = co_await follow(ordered);
      break;
    case CopyAction::kRecord:
      carried = co_await follow(ordered);
      break;
    case CopyAction::kMake:
      carried = co_await make(copy);
      break;
    case CopyAction::kGrow:
      carried = co_await grow(order);
      break;
    case CopyAction::kRetain:
      carried = co_await set_retained(copy, engine::Retained::kYes);
      break;
    case CopyAction::kRelease:
      carried = co_await set_retained(copy, engine::Retained::kNo);
      break;
    case CopyAction::kRemove: {
      auto removed = co_await remove(copy);
      co_return removed;
    }
    case CopyAction::kWithdraw:
      carried = co_await withdraw(order);
      break;
    case CopyAction::kGiveUp:
      carried = co_await give_up(order);
      break;
  }
  if (!carried) co_return carried.error();
  co_return CopyProgress{};
}

Task<Status> CopyHand::promise(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  auto judged = co_await judge_.judge(order);
  if (!judged) co_return judged;
  const engine::OrderedCopy ordered = ordered_copy(copy, order);
  auto promised = co_await storage_.promise(ordered);
  if (promised)
    ledger_.see_record(*promised);
  else
    ledger_.forget();
  judge_.release(order);
  if (!promised) co_return promised.error();
  note("copy promised", order);
  co_return Status();
}

// The engine makes the record anew that the tags speak for; whether it did is seen on the host.
Task<Status> CopyHand::adopt(const CopyOrder& order) {
  auto refreshed = co_await ledger_.refresh(true);
  if (!refreshed) co_return refreshed;
  const engine::Inventory seen = *ledger_.inventory();
  const auto settled = co_await storage_.settle(seen);
  ledger_.forget();
  if (!settled) co_return settled;
  auto looked = co_await ledger_.refresh(true);
  if (!looked) co_return looked;
  if (!ledger_.inventory()->records.contains(order.volume.name.text()))
    co_return Error(ErrorCode::kCorrupt,
                    "its own whole file system was not found on the disk, so that its record is "
                    "not made anew; the node daemon's log says what is there");
  note("copy adopted", order);
  co_return Status();
}

Task<Status> CopyHand::follow(const engine::OrderedCopy& ordered) {
  auto followed = co_await storage_.follow(ordered);
  if (!followed) {
    ledger_.forget();
    co_return followed.error();
  }
  ledger_.see_record(*followed);
  co_return Status();
}

Task<Status> CopyHand::make(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const engine::VolumeCall call{order.volume.name, order.volume.copy};
  auto made = co_await storage_.make(call);
  ledger_.forget();
  if (!made && is_hopeless_error(made.error())) hopeless_[copy.name] = made.error().code();
  if (!made) co_return made;
  hopeless_.erase(copy.name);
  note("copy made", order);
  co_return Status();
}

Task<Status> CopyHand::grow(const CopyOrder& order) {
  auto judged = co_await judge_.judge(order);
  if (!judged) co_return judged;
  // The record's size stays the first one, and it is asked for by that.
  const engine::VolumeSpec spec = recorded_spec(order);
  auto grown = co_await storage_.grow(spec, order.volume.size);
  ledger_.forget();
  judge_.release(order);
  if (grown) note("copy grown", order);
  co_return grown;
}

engine::VolumeSpec CopyHand::recorded_spec(const CopyOrder& order) const {
  const engine::Inventory* const seen = ledger_.last_seen();
  if (seen == nullptr) return order.volume;
  const auto found = seen->records.find(order.volume.name.text());
  return found == seen->records.end() ? order.volume : found->second.spec;
}

// An earlier record may have come back while the volume stayed.
bool CopyHand::is_made(const CopyOrder& order) const {
  const engine::Inventory* const seen = ledger_.last_seen();
  if (seen == nullptr) return true;
  const std::string& name = order.volume.name.text();
  const auto is_named = [&](const auto& thing) { return thing.name == name; };
  if (std::any_of(seen->volumes.begin(), seen->volumes.end(), is_named) ||
      std::any_of(seen->folders.begin(), seen->folders.end(), is_named))
    return true;
  const auto found = seen->records.find(name);
  return found == seen->records.end() || !engine::is_unmade(found->second.state);
}

// Of what is not made the record alone says it.
Task<Status> CopyHand::set_retained(const VolumeCopy& copy, engine::Retained retained) {
  const CopyOrder& order = *copy.order;
  Status said;
  if (is_made(order)) {
    said = co_await storage_.set_retained(order.volume, retained);
    ledger_.forget();
  } else {
    const engine::OrderedCopy ordered = ordered_copy(copy, order);
    said = co_await follow(ordered);
  }
  if (said)
    note(retained == engine::Retained::kYes ? "copy retained" : "copy no longer retained", order);
  co_return said;
}

Task<Result<CopyProgress>> CopyHand::remove(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const bool withdrawn = order.desired == DesiredState::kWithdrawn;
  auto removing = withdrawn ? storage_.remove_unused(order.volume) : storage_.remove(order.volume);
  auto removed = co_await std::move(removing);
  ledger_.forget();
  if (!removed) co_return removed.error();
  if (!removed->done)
    co_return CopyProgress{.done = false,
                           .wiped = removed->wiped,
                           .is_worth_a_write = wipes_[copy.name].advance(*removed, clock_.now())};
  wipes_.erase(copy.name);
  ledger_.forget_record(order.volume.name.text());
  note("copy removed", order);
  co_return CopyProgress{};
}

Task<Status> CopyHand::withdraw(const CopyOrder& order) {
  auto withdrawn = co_await storage_.withdraw(order.volume);
  if (withdrawn)
    ledger_.forget_record(order.volume.name.text());
  else
    ledger_.forget();
  if (withdrawn) note("copy withdrawn", order);
  co_return withdrawn;
}

Task<Status> CopyHand::give_up(const CopyOrder& order) {
  auto refused = co_await storage_.refuse(order.volume);
  if (!refused) {
    ledger_.forget();
    co_return refused.error();
  }
  ledger_.see_record(*refused);
  note("copy given up", order);
  co_return Status();
}

void CopyHand::note(std::string_view what, const CopyOrder& order) {
  log_.info(what, {{"namespace", order.volume.claim_namespace},
                   {"claim", order.claim_name},
                   {"volume", order.volume.name.text()},
                   {"copy", order.volume.copy},
                   {"size", to_string(order.volume.size)}});
}

}  // namespace flexlocal::provisioner
