#include "provisioner/controller/view/copy_index.h"

#include <algorithm>

#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kCountedAfter = 2 * kHeartbeatInterval;

std::string_view id_of_copy(std::string_view name) { return name.substr(name.rfind('-') + 1); }

std::set<std::string_view> counted_by(const NodeHeartbeat* beat) {
  if (beat == nullptr || !beat->report.roll) return {};
  return {beat->report.roll->counted.begin(), beat->report.roll->counted.end()};
}

// Room that the node's figures do not have before its agent has promised the copy. What was there
// already they have; and a removal that is ordered right after the promise does not free it yet.
bool takes_room(const VolumeCopy& copy) {
  const CopyState state = copy.status.state;
  return copy.order->origin != Origin::kExisting && state != CopyState::kRefused &&
         state != CopyState::kRemoved && (!is_to_go(copy.order->desired) || copy.status.promised);
}

// Of what was there already nothing is made anew, so that its removal leaves no doubt.
bool is_withdrawal(const VolumeCopy& copy) {
  return is_to_go(copy.order->desired) && !copy.status.promised &&
         copy.order->origin != Origin::kExisting && copy.status.state != CopyState::kRemoved;
}

void erase_name(std::map<std::string, std::set<std::string>>& names, const std::string& key,
                const std::string& name) {
  const auto found = names.find(key);
  if (found == names.end()) return;
  found->second.erase(name);
  if (found->second.empty()) names.erase(found);
}

}  // namespace

CopyIndex::CopyIndex(kube::Informer<VolumeCopy>& copies, const Clock& clock)
    : copies_(copies), clock_(clock) {
  copies.on_change([this](const std::string& name) { look(name); });
}

void CopyIndex::look(const std::string& name) {
  const auto copy = copies_.get(name);
  if (copy == nullptr) return forget(name);
  const auto [found, is_new] = known_.try_emplace(name);
  // A new leader would find room nowhere. Of what was made in the last seconds before it came the
  // nodes may be told a little too much room, which they refuse.
  if (is_new && !copies_.has_synced()) found->second.counted = copy->status.made;
  put_on(copy->agent, found->first, found->second);
  hold(name, copy->holds);
  if (copy->order) index_order(*copy, found->second);
}

// `name`: as known_ has it; no node: it is taken from where it is.
void CopyIndex::put_on(const std::string& node, const std::string& name, Known& known) {
  if (known.agent != nullptr && *known.agent == node) return;
  if (known.agent != nullptr) {
    const auto names = by_agent_.find(*known.agent);
    std::erase(names->second, &name);
    if (names->second.empty()) by_agent_.erase(names);
    known.agent = nullptr;
  }
  if (node.empty()) return;
  const auto names = by_agent_.try_emplace(node).first;
  names->second.push_back(&name);
  known.agent = &names->first;
}

void CopyIndex::index_order(const VolumeCopy& copy, Known& known) {
  highest_term_ = std::max(highest_term_, copy.order->term);
  if (known.generation != copy.generation) {
    known.generation = copy.generation;
    known.ordered = clock_.now();
  }
  const bool takes = !known.counted && takes_room(copy);
  if (!takes && !is_withdrawal(copy)) return settle(copy.name);
  const CopyOrder& order = *copy.order;
  const auto [found, is_new] = unsettled_.try_emplace(
      copy.name, Unsettled{order.node, order.volume.pool, order.volume.size});
  Unsettled& unsettled = found->second;
  if (is_new) on_node_[unsettled.node].insert(copy.name);
  unsettled.takes_room = takes;
  unsettled.withdrawn = is_withdrawal(copy);
  if (copy.status.promised && !unsettled.promised) unsettled.promised = clock_.now();
}

void CopyIndex::settle(const std::string& name) {
  const auto found = unsettled_.find(name);
  if (found == unsettled_.end()) return;
  erase_name(on_node_, found->second.node, name);
  unsettled_.erase(found);
}

void CopyIndex::hold(const std::string& name, const std::string& claim) {
  const auto found = holds_.find(name);
  if (found != holds_.end() && found->second == claim) return;
  if (found != holds_.end()) {
    erase_name(holding_, found->second, name);
    holds_.erase(found);
  }
  if (claim.empty()) return;
  holds_.emplace(name, claim);
  holding_[claim].insert(name);
}

void CopyIndex::forget(const std::string& name) {
  settle(name);
  hold(name, {});
  const auto known = known_.find(name);
  if (known == known_.end()) return;
  put_on({}, known->first, known->second);
  known_.erase(known);
}

// What names begin with is the volume's.
std::vector<std::string> CopyIndex::names_of(const std::string& volume) const {
  std::vector<std::string> names;
  for (auto at = known_.lower_bound(volume); at != known_.end(); ++at) {
    if (!at->first.starts_with(volume)) break;
    if (volume_of_copy(at->first) == volume) names.push_back(at->first);
  }
  return names;
}

std::vector<std::string> CopyIndex::names_seen_by(const std::string& node) const {
  std::vector<std::string> names;
  const auto found = by_agent_.find(node);
  if (found == by_agent_.end()) return names;
  for (const std::string* const name : found->second) names.push_back(*name);
  return names;
}

std::vector<KnownCopy> CopyIndex::of_volume(const std::string& volume) const {
  std::vector<KnownCopy> found;
  for (const std::string& name : names_of(volume))
    if (auto copy = copies_.get(name)) found.push_back(std::move(copy));
  return found;
}

KnownCopy CopyIndex::find(const std::string& volume, const std::string& copy) const {
  KnownCopy found = copies_.get(copy_name(volume, copy));
  return found != nullptr && found->order ? found : nullptr;
}

// Until its removal is ordered: then a person has chosen.
KnownCopy CopyIndex::holding(const std::string& claim) const {
  const auto names = holding_.find(claim);
  if (names == holding_.end()) return nullptr;
  for (const std::string& name : names->second) {
    auto copy = copies_.get(name);
    if (copy == nullptr) continue;
    if (!copy->order || copy->order->desired != DesiredState::kRemoved) return copy;
  }
  return nullptr;
}

bool CopyIndex::has_left_of(const std::string& volume, const std::string& node) const {
  return std::ranges::any_of(of_volume(volume), [&](const KnownCopy& copy) {
    return !copy->order || (copy->order->node == node && copy->status.state != CopyState::kRemoved);
  });
}

Bytes CopyIndex::uncounted(const NodeView& node, const std::string& pool) {
  const auto names = on_node_.find(node.node.name);
  if (names == on_node_.end()) return {};
  const std::set<std::string_view> said = counted_by(node.beat);
  Bytes sum;
  std::vector<std::string> settled;
  for (const std::string& name : names->second) {
    Unsettled& copy = unsettled_.at(name);
    if (!copy.takes_room) continue;
    if (said.contains(id_of_copy(name)) || has_beaten_twice(copy, node)) {
      known_.at(name).counted = true;
      copy.takes_room = false;
      if (!copy.withdrawn) settled.push_back(name);
    } else if (copy.pool == pool) {
      sum += copy.size;
    }
  }
  for (const std::string& name : settled) settle(name);
  return sum;
}

// Since the promise was seen; one beat may have been under way then.
bool CopyIndex::has_beaten_twice(const Unsettled& copy, const NodeView& node) const {
  if (!copy.promised) return false;
  const auto since = clock_.now() - *copy.promised;
  return since >= kCountedAfter && node.health.silent_for + kHeartbeatInterval <= since;
}

bool CopyIndex::has_open_withdrawal(const std::string& node) const {
  const auto names = on_node_.find(node);
  return names != on_node_.end() &&
         std::ranges::any_of(names->second, [this](const std::string& name) {
           return unsettled_.at(name).withdrawn;
         });
}

std::chrono::nanoseconds CopyIndex::ordered_for(const VolumeCopy& copy) const {
  const auto found = known_.find(copy.name);
  return found == known_.end() ? std::chrono::nanoseconds(0) : clock_.now() - found->second.ordered;
}

std::optional<std::chrono::nanoseconds> CopyIndex::unanswered_for(
    const std::vector<KnownCopy>& copies) const {
  for (const KnownCopy& copy : copies)
    if (copy->order && copy->order->desired == DesiredState::kServing)
      if (const auto asked = unanswered_for(*copy)) return asked;
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> CopyIndex::unanswered_for(const VolumeCopy& copy) const {
  // An agent that says why it says nothing has not answered.
  const bool said = copy.status.state != CopyState::kUnsaid;
  if (said && is_answered(copy)) return std::nullopt;
  return ordered_for(copy);
}

}  // namespace flexlocal::provisioner
