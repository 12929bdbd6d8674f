#include "provisioner/controller/copy_collector.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kRollWait = std::chrono::seconds(1);
constexpr auto kReplacementWait = std::chrono::seconds(10);

// Whether its node has answered this very order by that nothing of the copy is there. One to retain
// it may have come when its removal was over.
bool is_removed(const VolumeCopy& copy) {
  return copy.order->desired != DesiredState::kServing &&
         copy.status.state == CopyState::kRemoved && is_answered(copy);
}

// Nobody is left who could answer, and nothing was ever made.
bool was_never_more(const VolumeCopy& copy) {
  return copy.order->origin == Origin::kNew && !copy.status.promised && !copy.status.made;
}

// Its node cannot do what was ordered.
bool is_in_trouble(const VolumeCopy& copy) {
  const CopyCondition* const as_ordered = find_condition(copy.status, kAsOrdered);
  return is_answered(copy) && as_ordered != nullptr && !as_ordered->holds;
}

}  // namespace

Task<Requeue> CopyCollector::work(const VolumeCopy& copy) {
  if (!copy.order || copy.deleting) co_return std::nullopt;
  const CopyOrder& order = *copy.order;
  const bool node_is_gone = view_.nodes.get(order.node) == nullptr;
  orphans_.report_removal(copy);
  const bool goes = is_to_go(order.desired);
  if (is_given_up(copy) || (has_volume(order) && is_gone_unused(copy))) {
    const auto stays = co_await is_being_replaced(copy);
    if (!stays) co_return stays.error();
    if (*stays) co_return kReplacementWait;
  }
  if ((is_removed(copy) && (goes || !has_volume(order))) ||
      (goes && node_is_gone && was_never_more(copy))) {
    auto buried = co_await bury(copy);
    co_return buried;
  }
  removed_.erase(copy.name);
  const bool is_left = is_kept(copy) || node_is_gone || is_in_trouble(copy);
  if (is_withdrawn(copy) && !has_volume(order) && is_left) {
    if (orphans_.rests(copy.name)) co_return std::nullopt;
    auto requeue = co_await report_orphan(copy);
    co_return requeue;
  }
  if (goes && !is_kept(copy)) {
    auto released = co_await release_with_node(copy);
    co_return released;
  }
  // A retained copy is a person's to choose about; one with a PersistentVolume lives with that.
  if (order.desired == DesiredState::kRetained || has_volume(order)) {
    orphans_.forget(copy.name);
    co_return std::nullopt;
  }
  if (orphans_.rests(copy.name)) co_return std::nullopt;
  if (was_made_or_found(copy)) orphans_.begin_look(copy.name);
  auto needed = co_await is_needed(copy);
  if (!needed) co_return needed.error();
  if (*needed) {
    orphans_.found_none(copy.name);
    co_return std::nullopt;
  }
  auto ended = co_await end(copy);
  co_return ended;
}

bool CopyCollector::rests(const VolumeCopy& copy) const {
  if (!copy.order || copy.deleting) return true;
  switch (copy.order->desired) {
    case DesiredState::kServing:
      return has_volume(*copy.order);
    case DesiredState::kRetained:
      return has_volume(*copy.order) || !is_removed(copy);
    case DesiredState::kRemoved:
    case DesiredState::kWithdrawn:
      break;
  }
  return false;
}

// One that names this very copy.
bool CopyCollector::has_volume(const CopyOrder& order) const {
  const auto volume = view_.volumes.get(order.volume.name.text());
  return volume != nullptr && volume->copy == order.volume.copy;
}

// That it is not, by the API server's own word: the lists may lag behind.
Task<Result<bool>> CopyCollector::is_needed(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  if (order.claim_name.empty()) co_return true;  // it was found on the node: a person chooses
  auto replaced = co_await is_being_replaced(copy);
  if (!replaced || *replaced) co_return replaced;
  // One that there is names another copy.
  const bool had_volume = view_.volumes.get(order.volume.name.text()) != nullptr;
  bool has_open_claim = false;
  if (!had_volume && !has_lost_volume(copy)) {
    auto claimed = co_await has_claim(order);
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

// Whether a living claim is between a copy that was given up and the one that has its place: the
// mark of the first says so, or that the PersistentVolume names what was withdrawn before. See
// claims/replacement_plan.h.
Task<Result<bool>> CopyCollector::is_being_replaced(const VolumeCopy& copy) {
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
  auto claimed = co_await has_claim(order);
  co_return claimed;
}

// Whether its claim is bound to a PersistentVolume that is not there.
bool CopyCollector::has_lost_volume(const VolumeCopy& copy) const {
  const CopyOrder& order = *copy.order;
  const auto claim = view_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
  return copy.status.made && claim != nullptr && claim->uid == order.claim_uid &&
         claim->volume_name == order.volume.name.text();
}

Task<Result<bool>> CopyCollector::has_claim(const CopyOrder& order) {
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

// Its node knows whether a pod had it. Of what is not made anew, or may be of before a put-back of
// the API server, or nobody can answer for, a person decides.
Task<Requeue> CopyCollector::end(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const bool in_doubt = order.term < desk_.term() && roll_.shows_put_back();
  const bool is_mute = was_made_or_found(copy) && view_.nodes.get(order.node) == nullptr;
  if (order.origin != Origin::kNew || in_doubt || is_mute || has_lost_volume(copy)) {
    auto requeue = co_await report_orphan(copy);
    co_return requeue;
  }
  if (!roll_.is_over()) co_return std::chrono::nanoseconds(kRollWait);
  auto withdrawn = co_await desk_.order(copy, DesiredState::kWithdrawn);
  if (!withdrawn) co_return withdrawn.error();
  log_.info("order withdrawn, for its claim is gone", {{"namespace", order.volume.claim_namespace},
                                                       {"claim", order.claim_name},
                                                       {"copy", copy.name},
                                                       {"node", order.node}});
  co_return std::nullopt;
}

Task<Requeue> CopyCollector::report_orphan(const VolumeCopy& copy) {
  orphans_.begin_look(copy.name);
  const Orphan orphan{.order = *copy.order, .object = copy};
  auto requeue = co_await orphans_.work(orphan);
  if (!requeue || has_lost_volume(copy)) co_return requeue;
  auto released = co_await release_with_node(copy);
  if (!released) co_return released;
  co_return requeue;
}

Task<Requeue> CopyCollector::bury(const VolumeCopy& copy) {
  const auto now = clock_.now();
  const auto since = removed_.try_emplace(copy.name, now).first->second;
  if (now - since < kRemovedStays) co_return kRemovedStays - (now - since);
  auto removed = co_await desk_.remove(copy);
  if (!removed) co_return removed.error();
  removed_.erase(copy.name);
  co_return std::nullopt;
}

// Of a Node that is gone for good: nobody is left who could answer, and its disks are as they are.
// Should they come back, their node tells of the copy.
Task<Requeue> CopyCollector::release_with_node(const VolumeCopy& copy) {
  const std::string node = copy.order->node;
  if (view_.nodes.get(node) != nullptr || copy.order->reclaim_policy != "Delete" ||
      options_.node_delete_policy == NodeDeletePolicy::kReport)
    co_return std::nullopt;
  auto gone = co_await absence_.is_gone(node);
  if (!gone) co_return gone.error();
  if (!*gone) co_return std::nullopt;
  auto absent = co_await absence_.is_absent_now(node);
  if (!absent) co_return absent.error();
  if (!*absent) co_return std::nullopt;
  auto removed = co_await desk_.remove(copy);
  if (!removed) co_return removed.error();
  log_.warning("VolumeCopy of a deleted node let go; its data was not wiped",
               {{"copy", copy.name}, {"node", node}});
  co_return std::nullopt;
}

}  // namespace flexlocal::provisioner
