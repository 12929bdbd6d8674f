#include "provisioner/controller/copy_index.h"

#include <algorithm>

#include "provisioner/objects/heartbeat_record.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kCountedAfter = 2 * kHeartbeatInterval;

using Names = std::map<std::string, std::set<std::string>>;

void put(Names& names, const std::string& key, const std::string& name, bool in) {
  if (in) {
    names[key].insert(name);
    return;
  }
  const auto found = names.find(key);
  if (found == names.end()) return;
  found->second.erase(name);
  if (found->second.empty()) names.erase(found);
}

// By its name, where nothing else of it is understood.
std::string volume_of_copy(const std::string& name) { return name.substr(0, name.rfind('-')); }

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
         state != CopyState::kRemoved &&
         (copy.order->desired != DesiredState::kRemoved || copy.status.promised);
}

// Of what was there already nothing is made anew, so that its removal leaves no doubt.
bool is_withdrawal(const VolumeCopy& copy) {
  return copy.order->desired == DesiredState::kRemoved && !copy.status.promised &&
         copy.order->origin != Origin::kExisting && copy.status.state != CopyState::kRemoved;
}

}  // namespace

CopyIndex::CopyIndex(kube::Informer<VolumeCopy>& copies, const Clock& clock)
    : copies_(copies), clock_(clock) {
  copies.on_change([this](const std::string& name) { look(name); });
}

void CopyIndex::look(const std::string& name) {
  const VolumeCopy* const copy = copies_.get(name);
  if (copy == nullptr) return forget(name);
  const auto [found, is_new] = known_.try_emplace(name);
  Known& known = found->second;
  // A new leader would find room nowhere. Of what was made in the last seconds before it came the
  // nodes may be told a little too much room, which they refuse.
  if (is_new && !copies_.has_synced()) known.counted = copy->status.made;
  if (known.holds != copy->holds) {
    put(holding_, known.holds, name, false);
    known.holds = copy->holds;
    put(holding_, known.holds, name, !known.holds.empty());
  }
  if (!copy->order) {
    known.volume = volume_of_copy(name);
    put(by_volume_, known.volume, name, true);
    return;
  }
  const CopyOrder& order = *copy->order;
  if (known.generation != copy->generation) {
    known.generation = copy->generation;
    known.ordered = clock_.now();
  }
  known.volume = order.volume.name.text();
  known.node = order.node;
  known.pool = order.volume.pool;
  if (known.size == Bytes(0)) known.size = order.volume.size;  // and not what it grows to
  if (copy->status.promised && !known.promised) known.promised = clock_.now();
  known.withdrawn = is_withdrawal(*copy);
  put(by_volume_, known.volume, name, true);
  put(uncounted_, known.node, name, !known.counted && takes_room(*copy));
  put(withdrawals_, known.node, name, known.withdrawn);
}

void CopyIndex::forget(const std::string& name) {
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  const Known& known = found->second;
  put(by_volume_, known.volume, name, false);
  put(holding_, known.holds, name, false);
  put(uncounted_, known.node, name, false);
  put(withdrawals_, known.node, name, false);
  known_.erase(found);
}

std::vector<const VolumeCopy*> CopyIndex::of_volume(const std::string& volume) const {
  std::vector<const VolumeCopy*> found;
  const auto names = by_volume_.find(volume);
  if (names == by_volume_.end()) return found;
  for (const std::string& name : names->second)
    if (const VolumeCopy* const copy = copies_.get(name)) found.push_back(copy);
  return found;
}

const VolumeCopy* CopyIndex::find(const std::string& volume, const std::string& copy) const {
  for (const VolumeCopy* const known : of_volume(volume))
    if (known->order && known->order->volume.copy == copy) return known;
  return nullptr;
}

// Until its removal is ordered: then a person has chosen.
const VolumeCopy* CopyIndex::holding(const std::string& claim) const {
  const auto names = holding_.find(claim);
  if (names == holding_.end()) return nullptr;
  for (const std::string& name : names->second) {
    const VolumeCopy* const copy = copies_.get(name);
    if (copy == nullptr) continue;
    if (!copy->order || copy->order->desired != DesiredState::kRemoved) return copy;
  }
  return nullptr;
}

bool CopyIndex::has_left_of(const std::string& volume, const std::string& node) const {
  return std::ranges::any_of(of_volume(volume), [&](const VolumeCopy* copy) {
    return !copy->order || (copy->order->node == node && copy->status.state != CopyState::kRemoved);
  });
}

Bytes CopyIndex::uncounted(const NodeView& node, const std::string& pool) {
  const auto names = uncounted_.find(node.node.name);
  if (names == uncounted_.end()) return {};
  const std::set<std::string_view> said = counted_by(node.beat);
  std::erase_if(names->second, [&](const std::string& name) {
    Known& known = known_.at(name);
    known.counted = said.contains(id_of_copy(name)) || has_beaten_twice(known, node);
    return known.counted;
  });
  Bytes sum;
  for (const std::string& name : names->second)
    if (const Known& known = known_.at(name); known.pool == pool) sum += known.size;
  if (names->second.empty()) uncounted_.erase(names);
  return sum;
}

// Since the promise was seen; one beat may have been under way then.
bool CopyIndex::has_beaten_twice(const Known& known, const NodeView& node) const {
  if (!known.promised) return false;
  const auto since = clock_.now() - *known.promised;
  return since >= kCountedAfter && node.health.silent_for + kHeartbeatInterval <= since;
}

bool CopyIndex::has_open_withdrawal(const std::string& node) const {
  return withdrawals_.contains(node);
}

std::chrono::nanoseconds CopyIndex::ordered_for(const VolumeCopy& copy) const {
  const auto found = known_.find(copy.name);
  return found == known_.end() ? std::chrono::nanoseconds(0) : clock_.now() - found->second.ordered;
}

std::optional<std::chrono::nanoseconds> CopyIndex::unanswered_for(const VolumeCopy& copy) const {
  // An agent that says why it says nothing has not answered.
  const bool said = copy.status.state != CopyState::kUnsaid;
  if (said && copy.status.observed_generation >= copy.generation) return std::nullopt;
  return ordered_for(copy);
}

std::int64_t CopyIndex::highest_term() const {
  std::int64_t highest = 0;
  copies_.for_each([&](const std::string&, const VolumeCopy& copy) {
    if (copy.order) highest = std::max(highest, copy.order->term);
  });
  return highest;
}

}  // namespace flexlocal::provisioner
