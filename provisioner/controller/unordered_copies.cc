#include "provisioner/controller/unordered_copies.h"

#include <set>

#include "flexvolume/base/text.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {
namespace {

// Events are kept for an hour.
constexpr auto kTellAgain = std::chrono::hours(1);

NodeIdentity identity_of(const Node& node) {
  const auto hostname = node.labels.find(std::string(kHostnameLabel));
  return {node.name, hostname == node.labels.end() ? std::string() : hostname->second, node.uid};
}

// Of a claim that is gone, or whose name another one has now.
bool is_of_name(const ToldCopy& copy, const Claim& claim) {
  return copy.ready && !copy.retained && copy.claim_name == claim.name &&
         copy.volume.claim_namespace == claim.namespace_name;
}

}  // namespace

// visit(node, copy) for each that no VolumeCopy names by now: a node that is silent does not know
// of those that were made since.
template <typename Visit>
void UnorderedCopies::for_each(Visit visit) const {
  parts_.beats.for_each([&](const std::string&, const NodeHeartbeat& beat) {
    if (!beat.report.roll || beat.report.roll->told.empty()) return;
    const Node* const node = parts_.nodes.get(beat.node);
    if (node == nullptr) return;
    for (const ToldCopy& copy : beat.report.roll->told)
      if (index_.find(copy.volume.name.text(), copy.volume.copy) == nullptr)
        visit(identity_of(*node), copy);
  });
}

std::optional<UnorderedCopies::Found> UnorderedCopies::of_claim(const Claim& claim) const {
  const std::string volume = concat("pvc-", claim.uid);
  std::optional<Found> found;
  bool alone = true;
  for_each([&](const NodeIdentity& node, const ToldCopy& copy) {
    const bool own = copy.volume.name.text() == volume;
    if (!own && !is_of_name(copy, claim)) return;
    if (own && found && found->of_this_claim) alone = false;
    const int rank = (own ? 2 : 0) + (copy.ready ? 1 : 0);
    const int best = found ? (found->of_this_claim ? 2 : 0) + (found->copy.ready ? 1 : 0) : -1;
    if (rank > best) found = Found{.node = node, .copy = copy, .of_this_claim = own};
  });
  if (found) found->alone = alone;
  return found;
}

void UnorderedCopies::look() {
  std::set<std::string> present;
  for_each([&](const NodeIdentity& node, const ToldCopy& copy) {
    present.insert(copy_name(copy.volume));
    tell(node, copy);
  });
  std::erase_if(told_, [&](const auto& told) { return !present.contains(told.first); });
}

void UnorderedCopies::tell(const NodeIdentity& node, const ToldCopy& copy) {
  const auto now = parts_.clock.now();
  Told& told = told_.try_emplace(copy_name(copy.volume), Told{now, std::nullopt}).first->second;
  if (now - told.since < kUnorderedGrace) return;
  if (told.last && now - *told.last < kTellAgain) return;
  told.last = now;
  const engine::VolumeSpec& volume = copy.volume;
  const std::string text = concat(
      "volume ", volume.name.text(), " (", to_string(volume.size), ", namespace ",
      volume.claim_namespace, copy.claim_name.empty() ? "" : ", claim ", copy.claim_name,
      ") on node ", node.name,
      " has no VolumeCopy and no PersistentVolume; it stays as it is. It may be of an API server "
      "that was put back to an earlier state");
  parts_.log.warning("orphaned volume", {{"volume", volume.name.text()}, {"node", node.name}});
  parts_.events.record({reference_to(node), kube::EventType::kWarning, "OrphanedVolume", text});
}

void take_as_it_is(const ToldCopy& copy, CopyOrder& order) {
  order.origin = Origin::kExisting;
  order.volume.pool = copy.volume.pool;
  order.volume.backend = copy.volume.backend;
  order.volume.fs_type = copy.volume.fs_type;
  order.volume.size = copy.volume.size;
  order.volume.on_delete = copy.volume.on_delete;
}

CopyOrder order_to_keep(const UnorderedCopies::Found& found, const std::string& cluster_id) {
  const ToldCopy& copy = found.copy;
  CopyOrder order(copy.volume.name);
  order.volume = copy.volume;
  order.volume.cluster_id = cluster_id;
  order.origin = Origin::kExisting;
  order.desired = DesiredState::kRetained;
  order.node = found.node.name;
  order.node_uid = found.node.uid;
  order.hostname = found.node.hostname;
  order.claim_uid = copy.claim_uid.empty() ? copy.volume.name.claim_uid() : copy.claim_uid;
  order.claim_name = copy.claim_name;
  return order;
}

}  // namespace flexlocal::provisioner
