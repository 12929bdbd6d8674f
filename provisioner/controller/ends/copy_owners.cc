#include "provisioner/controller/ends/copy_owners.h"

#include <algorithm>
#include <memory>
#include <string>

#include "flexvolume/base/text.h"
#include "provisioner/kube/complete_list.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

bool is_of(const CopyOrder& order, const std::string& claim_uid) {
  return claim_uid == order.claim_uid || claim_uid == order.volume.name.claim_uid();
}

}  // namespace

// One that names this very copy.
bool CopyOwners::has_volume(const CopyOrder& order) const {
  const auto volume = view_.volumes.get(order.volume.name.text());
  return volume != nullptr && volume->copy == order.volume.copy;
}

bool CopyOwners::has_any_volume(const CopyOrder& order) const {
  return view_.volumes.get(order.volume.name.text()) != nullptr;
}

bool CopyOwners::has_lost_volume(const VolumeCopy& copy) const {
  const CopyOrder& order = *copy.order;
  const auto claim = view_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
  return copy.status.made && claim != nullptr && claim->uid == order.claim_uid &&
         claim->volume_name == order.volume.name.text();
}

kube::Found<Claim> CopyOwners::claim_of(const CopyOrder& order) const {
  if (!order.claim_name.empty()) {
    const auto named =
        view_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
    return named != nullptr && is_of(order, named->uid) ? named : nullptr;
  }
  kube::Found<Claim> found;
  view_.claims.for_each([&](const std::string&, const Claim& claim) {
    if (is_of(order, claim.uid)) found = std::make_shared<const Claim>(claim);
  });
  return found;
}

Task<Result<std::optional<Volume>>> CopyOwners::read_volume(const CopyOrder& order) const {
  const std::string path = volume_path(order.volume.name.text());
  const auto answer = co_await api_.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return std::nullopt;
  if (!answer) co_return answer.error().context("asking whether the PersistentVolume is gone");
  auto volume = decode_volume(answer->root());
  if (!volume) co_return Error(ErrorCode::kCorrupt, "the PersistentVolume cannot be read");
  co_return volume;
}

// The informer keeps claims that wait, or are of classes that are there, only.
Task<Result<bool>> CopyOwners::has_claim(const CopyOrder& order) const {
  const std::string path = claims_path(order.volume.claim_namespace);
  const std::string no_selector;
  const std::string field = "uid";
  auto uids = co_await complete_list(api_, path, no_selector, field);
  if (!uids) co_return uids.error().context("asking whether the claim is gone");
  co_return std::ranges::any_of(*uids, [&](const std::string& uid) { return is_of(order, uid); });
}

Task<Result<bool>> CopyOwners::is_needed(const VolumeCopy& copy) const {
  const CopyOrder& order = *copy.order;
  if (order.claim_name.empty()) co_return true;  // it was found on the node: a person chooses
  auto replaced = co_await is_being_replaced(copy);
  if (!replaced || *replaced) co_return replaced;
  // One that there is names another copy.
  const bool had_volume = view_.volumes.get(order.volume.name.text()) != nullptr;
  bool has_open_claim = false;
  if (!had_volume && !has_lost_volume(copy)) {
    auto claimed = co_await has_named_claim(order);
    // Another node's PersistentVolume may have the claim, which a controller of one node does not
    // follow.
    if (!claimed || (*claimed && view_.scope != Scope::kOneNode)) co_return claimed;
    has_open_claim = *claimed;
  }
  const std::string path = volume_path(order.volume.name.text());
  const auto found = co_await api_.get(path);
  if (!found && found.error().code() != ErrorCode::kNotFound)
    co_return found.error().context("looking whether the PersistentVolume is gone");
  if (!found) co_return had_volume || has_open_claim;  // the watch brings that it is gone
  const auto volume = decode_volume(found->root());
  co_return !volume || volume->copy == order.volume.copy;
}

Task<Result<bool>> CopyOwners::is_being_replaced(const VolumeCopy& copy) const {
  const std::string& volume = copy.order->volume.name.text();
  const auto copies = view_.copies.of_volume(volume);
  const auto known = view_.volumes.get(volume);
  const bool is_between = std::ranges::any_of(copies, [&](const KnownCopy& other) {
    const bool is_named = known != nullptr && copy_name(volume, known->copy) == other->name;
    return is_given_up(*other)
               ? known == nullptr || is_named
               : is_named && is_gone_unused(*other) && view_.scope == Scope::kAllNodes;
  });
  if (!is_between) co_return false;
  const CopyOrder order = *copy.order;
  auto claimed = co_await has_named_claim(order);
  co_return claimed;
}

Task<Result<bool>> CopyOwners::has_named_claim(const CopyOrder& order) const {
  const auto open = view_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
  if (open != nullptr && open->uid == order.claim_uid) co_return true;
  Claim named;
  named.namespace_name = order.volume.claim_namespace;
  named.name = order.claim_name;
  const std::string path = claim_path(named);
  const auto claimed = co_await api_.get(path);
  if (claimed) co_return uid_of(claimed->root()) == order.claim_uid;
  if (claimed.error().code() == ErrorCode::kNotFound) co_return false;
  co_return claimed.error().context("looking whether the claim is gone");
}

}  // namespace flexlocal::provisioner
