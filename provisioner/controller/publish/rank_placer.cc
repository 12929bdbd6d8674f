#include "provisioner/controller/publish/rank_placer.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/immediate_plan.h"
#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/controller/view/refused_nodes.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// A claim that cannot be here now is looked at again: no change of its own says that it can.
constexpr auto kRequeueAfter = std::chrono::seconds(5);
// By then fewer nodes may be before this one, and pauses be shorter.
constexpr std::chrono::nanoseconds kNearRequeueAfter = std::chrono::seconds(10);
// Far behind, a node looks again when the claim has waited as long again. In a burst each node
// waits for nearly all claims: to look at them more often is what its daemon would be busy with.
constexpr std::size_t kFar = 4;
constexpr std::chrono::nanoseconds kFarRequeueAfter = std::chrono::seconds(30);
constexpr std::chrono::nanoseconds kMostFarRequeueAfter = std::chrono::minutes(5);
// A claim that has waited longer may have been written to by somebody else, or be about to.
constexpr auto kFresh = std::chrono::seconds(2);

Bytes told_by(const ToldRooms& told, NodeHash node) {
  const auto found = std::find_if(told.nodes.begin(), told.nodes.end(),
                                  [&](const auto& candidate) { return candidate.node == node; });
  return found == told.nodes.end() ? Bytes() : found->room;
}

// Among those that the class allows.
std::optional<std::size_t> rank_among(const RankCandidate& node, const ToldRooms& told,
                                      const Claim& claim, const StorageClass& storage_class,
                                      Bytes size, std::size_t enough) {
  if (storage_class.allowed_topologies.empty())
    return rank_of(node, told.nodes, claim.uid, size, enough);
  std::vector<RankCandidate> allowed;
  for (std::size_t i = 0; i < told.nodes.size(); ++i)
    if (is_allowed_hostname(storage_class, told.hostnames[i])) allowed.push_back(told.nodes[i]);
  return rank_of(node, allowed, claim.uid, size, enough);
}

}  // namespace

bool RankPlacer::notice(const std::string& key) {
  const auto claim = view_.claims.get(key);
  const StorageClass* const known =
      claim == nullptr ? nullptr : view_.classes.get(claim->storage_class);
  if (known == nullptr || !known->immediate || !claim->marked || claim->deleting ||
      !claim->volume_name.empty()) {
    settle(key, nullptr);
    return false;
  }
  const bool chosen = !claim->selected_node.empty();
  const bool ours = claim->selected_node == view_.own_node;
  if (chosen && !ours) {
    settle(key, claim.get());
    return false;
  }
  Seen& seen = seen_[key];
  if (seen.uid != claim->uid) {
    end_wait(key, seen);
    seen = Seen{.uid = claim->uid};
  }
  const auto now = clock_.now();
  if (std::exchange(seen.ours, ours) && !ours) seen.not_before = now + RefusedNodes::kPause;
  if (ours) {
    if (seen.since) note_taken(*claim, now - *seen.since);
    end_wait(key, seen);
    return false;
  }
  if (!seen.since) {
    seen.since = now;
    ++waiting_;
  }
  return true;
}

// It waits no more; `taken`: for another node has it. Of most claims of a cluster no more is to be
// known then.
void RankPlacer::settle(const std::string& key, const Claim* taken) {
  const auto found = seen_.find(key);
  if (found == seen_.end()) return;
  Seen& seen = found->second;
  const auto now = clock_.now();
  if (taken != nullptr && taken->uid == seen.uid && seen.since)
    note_taken(*taken, now - *seen.since);
  end_wait(key, seen);
  seen.ours = false;
  if (taken == nullptr || taken->uid != seen.uid || seen.not_before <= now) seen_.erase(found);
}

void RankPlacer::end_wait(const std::string& key, Seen& seen) {
  line_.leave(key);
  if (seen.since) --waiting_;
  seen.since.reset();
  seen.ranked.reset();
  seen.look.reset();
}

// Only of those that are first: what another one took, it took after a pause.
void RankPlacer::note_taken(const Claim& claim, std::chrono::nanoseconds waited) {
  if (!pause_.is_news(waited, clock_.now())) return;
  const auto size = parse_quantity(claim.requested);
  const auto* const told = survey_.last_rooms(claim.storage_class);
  const StorageClass* const known = view_.classes.get(claim.storage_class);
  if (!size || told == nullptr || known == nullptr) return;
  const NodeHash taker = hash_of_node(claim.selected_node);
  if (rank_among({taker, told_by(*told, taker)}, *told, claim, *known, *size, 1) == 0)
    pause_.observe(waited, clock_.now());
}

std::vector<std::string> RankPlacer::asking() const {
  std::vector<std::string> keys;
  for (const auto& [key, seen] : seen_)
    if (seen.since && seen.asks) keys.push_back(key);
  return keys;
}

// What no node could serve is refused in words by the cluster daemon.
Task<Requeue> RankPlacer::work(const std::string& key) {
  if (!notice(key)) co_return RequeueAfter();
  const Claim claim = *view_.claims.get(key);  // the stores may change while we wait
  const StorageClass storage_class = *view_.classes.get(claim.storage_class);
  const bool exists = view_.volumes.get(volume_of_claim(claim.uid)) != nullptr;
  const ClaimPlan plan = plan_claim(claim, &storage_class, exists, claim.selected_node);
  const auto* const order = std::get_if<Order>(&plan);
  if (order == nullptr || seen_.at(key).lost_version == claim.resource_version) {
    line_.leave(key);
    co_return RequeueAfter();
  }
  const auto left = consider(claim, storage_class, order->requested);
  // Later, or not before something is known.
  if (!left || *left > std::chrono::nanoseconds(0)) {
    line_.leave(key);
    co_return left;
  }
  const auto in_line = enter_line(key);
  if (!in_line || *in_line > std::chrono::nanoseconds(0)) co_return in_line;
  line_.begin();
  auto taken = co_await take(claim, *order);
  const auto* const told = survey_.last_rooms(storage_class.name);
  line_.end(key, waiting_, told == nullptr ? 1 : told->nodes.size());
  co_return taken;
}

RequeueAfter RankPlacer::enter_line(const std::string& key) {
  const auto seen = seen_.find(key);
  // It may have ended while the Node was asked for.
  if (seen == seen_.end() || !seen->second.since) return std::nullopt;
  return line_.enter(key, seen->second.due);
}

// How long it is until this node may take the claim, or should look at it again.
RequeueAfter RankPlacer::consider(const Claim& claim, const StorageClass& storage_class,
                                  Bytes size) {
  if (taker_.room_of(storage_class.name) < size) return kRequeueAfter;
  const auto left = turn(claim, storage_class, size, seen_.at(claim.key()));
  if (!left || *left > std::chrono::nanoseconds(0)) return left;
  return may_be_here(storage_class) ? left : RequeueAfter(kRequeueAfter);
}

// How long it is until this node's turn; or until it should look again, for by a later list fewer
// may be before it. nullopt: that takes a list, which is asked for.
RequeueAfter RankPlacer::turn(const Claim& claim, const StorageClass& storage_class, Bytes size,
                              Seen& seen) {
  if (const auto behind = behind_others(claim, storage_class, size, seen)) return behind;
  const auto* const told = survey_.rooms_for(storage_class.name);
  seen.asks = told == nullptr;
  if (told == nullptr) return std::nullopt;
  return turn_by(*told, claim, storage_class, size, seen).value_or(kRequeueAfter);
}

RequeueAfter RankPlacer::others_first(const std::string& key) {
  const auto claim = view_.claims.get(key);
  const StorageClass* const known =
      claim == nullptr ? nullptr : view_.classes.get(claim->storage_class);
  const auto seen = seen_.find(key);
  if (known == nullptr || seen == seen_.end() || !seen->second.since) return std::nullopt;
  const auto size = parse_quantity(claim->requested);
  if (!size) return std::nullopt;
  const auto left = behind_others(*claim, *known, *size, seen->second);
  seen->second.look.reset();
  if (!left) return left;
  line_.leave(key);  // it must not keep others waiting
  if (*left > kRound) seen->second.look = clock_.now() + *left;
  return left;
}

std::vector<std::string> RankPlacer::next_round() {
  const auto until = clock_.now() + kRound;
  std::vector<std::string> keys;
  for (auto& [key, seen] : seen_) {
    if (!seen.look || *seen.look > until) continue;
    seen.look.reset();
    keys.push_back(key);
  }
  return keys;
}

// An old list may say that others are before this node until the first of them have had their time,
// but never that they are not: so what these take makes few nodes list.
RequeueAfter RankPlacer::behind_others(const Claim& claim, const StorageClass& storage_class,
                                       Bytes size, Seen& seen) {
  const auto* const last = survey_.last_rooms(storage_class.name);
  if (last == nullptr) return std::nullopt;
  const auto ranked = seen.ranked;
  if (ranked && clock_.now() - *ranked >= std::int64_t{kFar} * pause_among(*last))
    return std::nullopt;
  const auto left = turn_by(*last, claim, storage_class, size, seen);
  seen.asks = false;
  if (left && *left > std::chrono::nanoseconds(0)) return left;
  seen.ranked = ranked;
  return std::nullopt;
}

// Each node that is before this one may have its part of all that wait to take first.
std::chrono::nanoseconds RankPlacer::pause_among(const ToldRooms& told) const {
  const std::size_t nodes = told.nodes.size();
  return std::max(pause_.at(clock_.now()), least_rank_pause(nodes)) +
         time_to_take(waiting_ - 1, nodes);
}

// nullopt: this node has no room.
RequeueAfter RankPlacer::turn_by(const ToldRooms& told, const Claim& claim,
                                 const StorageClass& storage_class, Bytes size, Seen& seen) {
  const auto now = clock_.now();
  const auto ranked = seen.ranked.value_or(now);
  const auto far_after = std::clamp(now - ranked, kFarRequeueAfter, kMostFarRequeueAfter);
  const auto pause = pause_among(told);
  // With so many before it, its turn comes after the next look.
  const auto enough = static_cast<std::size_t>((now - ranked + far_after) / pause) + 1;
  const auto before = rank_among(own_candidate(storage_class.name, size, told), told, claim,
                                 storage_class, size, std::max(enough, kFar));
  if (!before) return std::nullopt;
  seen.ranked = ranked;
  seen.due = std::max(ranked + static_cast<std::int64_t>(*before) * pause, seen.not_before);
  const auto most = *before < kFar ? kNearRequeueAfter : far_after;
  return std::clamp<std::chrono::nanoseconds>(seen.due - now, {}, most);
}

// The class may ask for labels of which nodes do not tell each other. Then nodes are ranked that it
// does not allow, and the pauses for them are waited for.
bool RankPlacer::may_be_here(const StorageClass& storage_class) const {
  const Node* const node = view_.nodes.get(view_.own_node);
  return node != nullptr && node->ready && !node->cordoned && is_allowed(storage_class, *node);
}

// Also this node by what it told: all must rank by the same figures, or in a burst of claims each
// knows better of itself what the others do not yet, and takes another one for the first. What it
// has not told yet counts where that is why it would be left out.
RankCandidate RankPlacer::own_candidate(const std::string& storage_class, Bytes size,
                                        const ToldRooms& told) const {
  const Bytes own = told_by(told, own_hash_);
  return {own_hash_, own < size ? taker_.room_of(storage_class) : own};
}

// A watch of an API server that is busy is late, and to write by what it said would be in vain.
// What has changed meanwhile is in the store then.
Task<Status> RankPlacer::refresh(const Claim& claim) {
  const auto seen = seen_.find(claim.key());
  if (seen == seen_.end() || !seen->second.since) co_return Status();
  if (clock_.now() - *seen->second.since < kFresh) co_return Status();
  auto refreshed = co_await taker_.refresh(claim);
  co_return refreshed;
}

Task<Requeue> RankPlacer::take(const Claim& claim, const Order& order) {
  const std::string key = claim.key();
  const Status refreshed = co_await refresh(claim);
  if (!refreshed) co_return refreshed.error().context("looking whether another node has the claim");
  // A claim that has changed meanwhile comes again by itself.
  const auto now = view_.claims.get(key);
  if (now == nullptr || now->resource_version != claim.resource_version) co_return RequeueAfter();
  const auto taken = co_await taker_.take(claim, order);
  if (!taken) co_return taken.error();
  if (*taken == ClaimTaker::Outcome::kNoRoom) co_return RequeueAfter(kRequeueAfter);
  const auto seen = seen_.find(key);
  if (*taken == ClaimTaker::Outcome::kLost && seen != seen_.end())
    seen->second.lost_version = claim.resource_version;
  co_return RequeueAfter();
}

}  // namespace flexlocal::provisioner
