#include "provisioner/controller/copy_collector.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// Events are kept for an hour.
constexpr auto kTellAgain = std::chrono::hours(1);
constexpr auto kRollWait = std::chrono::seconds(1);

// Whether its node has answered this very order by that nothing of the copy is there.
bool is_removed(const VolumeCopy& copy) {
  return copy.order->desired == DesiredState::kRemoved &&
         copy.status.state == CopyState::kRemoved &&
         copy.status.observed_generation >= copy.generation;
}

// Nobody is left who could answer, and nothing was ever made.
bool was_never_more(const VolumeCopy& copy) {
  return copy.order->origin == Origin::kNew && !copy.status.promised && !copy.status.made;
}

}  // namespace

Task<CopyCollector::Again> CopyCollector::work(const VolumeCopy& copy) {
  if (!copy.order || copy.deleting) co_return std::nullopt;
  const CopyOrder& order = *copy.order;
  const bool node_is_gone = parts_.nodes.get(order.node) == nullptr;
  if (is_removed(copy) ||
      (order.desired == DesiredState::kRemoved && node_is_gone && was_never_more(copy))) {
    auto buried = co_await bury(copy);
    co_return buried;
  }
  removed_.erase(copy.name);
  // A retained copy is a person's to choose about; one with a PersistentVolume lives with that.
  const Volume* const volume = parts_.volumes.get(order.volume.name.text());
  if (order.desired != DesiredState::kServing ||
      (volume != nullptr && volume->copy == order.volume.copy))
    co_return std::nullopt;
  // What was told of lately needs no other look yet.
  const auto told = told_.find(copy.name);
  if (told != told_.end() && parts_.clock.now() - told->second < kTellAgain) co_return std::nullopt;
  auto needed = co_await is_needed(copy);
  if (!needed) co_return needed.error();
  if (*needed) co_return std::nullopt;
  auto ended = co_await end(copy);
  co_return ended;
}

// That it is not, by the API server's own word: the lists may lag behind.
Task<Result<bool>> CopyCollector::is_needed(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  if (order.claim_name.empty()) co_return true;  // it was found on the node: a person chooses
  // One that there is names another copy.
  const bool had_volume = parts_.volumes.get(order.volume.name.text()) != nullptr;
  if (!had_volume) {
    auto claimed = co_await has_claim(order);
    if (!claimed || *claimed) co_return claimed;
  }
  const std::string path = volume_path(order.volume.name.text());
  const auto found = co_await parts_.api.get(path);
  if (!found && found.error().code() != ErrorCode::kNotFound)
    co_return found.error().context("looking whether the PersistentVolume is gone");
  if (!found) co_return had_volume;  // the watch brings that it is gone
  const auto volume = decode_volume(found->root());
  co_return !volume || volume->copy == order.volume.copy;
}

Task<Result<bool>> CopyCollector::has_claim(const CopyOrder& order) {
  const Claim* const open =
      parts_.claims.get(concat(order.volume.claim_namespace, '/', order.claim_name));
  if (open != nullptr && open->uid == order.claim_uid) co_return true;
  Claim named;
  named.namespace_name = order.volume.claim_namespace;
  named.name = order.claim_name;
  const std::string path = claim_path(named);
  const auto claimed = co_await parts_.api.get(path);
  if (claimed) co_return uid_of(claimed->root()) == order.claim_uid;
  if (claimed.error().code() == ErrorCode::kNotFound) co_return false;
  co_return claimed.error().context("looking whether the claim is gone");
}

// What was made may hold data, whose PersistentVolume somebody took away by force; and so may what
// was ordered because it is there, though its node has not said so yet; and where the API server
// was put back, anything.
Task<CopyCollector::Again> CopyCollector::end(const VolumeCopy& copy) {
  const bool in_doubt = copy.order->term < desk_.term() && roll_.shows_put_back();
  if (copy.status.made || copy.order->origin != Origin::kNew || in_doubt) {
    tell_of_orphan(copy);
    co_return std::nullopt;
  }
  if (!roll_.is_over()) co_return std::chrono::nanoseconds(kRollWait);
  CopyOrder order = *copy.order;
  order.desired = DesiredState::kRemoved;
  auto changed = co_await desk_.change(copy, order);
  if (!changed) co_return changed.error();
  parts_.log.info("order withdrawn, for its claim is gone",
                  {{"namespace", order.volume.claim_namespace},
                   {"claim", order.claim_name},
                   {"copy", copy.name},
                   {"node", order.node}});
  co_return std::nullopt;
}

Task<CopyCollector::Again> CopyCollector::bury(const VolumeCopy& copy) {
  const auto now = parts_.clock.now();
  const auto since = removed_.try_emplace(copy.name, now).first->second;
  if (now - since < kRemovedStays) co_return kRemovedStays - (now - since);
  auto removed = co_await desk_.remove(copy);
  if (!removed) co_return removed.error();
  removed_.erase(copy.name);
  co_return std::nullopt;
}

void CopyCollector::tell_of_orphan(const VolumeCopy& copy) {
  const auto now = parts_.clock.now();
  const auto told = told_.find(copy.name);
  if (told != told_.end() && now - told->second < kTellAgain) return;
  told_.insert_or_assign(copy.name, now);
  const CopyOrder& order = *copy.order;
  const std::string text =
      concat("volume ", order.volume.name.text(), " (", to_string(order.volume.size),
             ", namespace ", order.volume.claim_namespace, ") on node ", order.node,
             " has no PersistentVolume and no claim; its data stays. VolumeCopy ", copy.name);
  parts_.log.warning("orphaned volume", {{"copy", copy.name}, {"node", order.node}});
  parts_.events.record({reference_to(NodeIdentity{order.node, order.hostname, order.node_uid}),
                        kube::EventType::kWarning, "OrphanedVolume", text});
}

}  // namespace flexlocal::provisioner
