#include "provisioner/controller/view/unordered_copies.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/volume_copy.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Of a claim that is gone, or whose name another one has now.
bool is_of_name(const ToldCopy& copy, const Claim& claim) {
  return copy.ready && !copy.retained && copy.claim_name == claim.name &&
         copy.volume.claim_namespace == claim.namespace_name;
}

}  // namespace

std::optional<UnorderedCopies::Found> UnorderedCopies::of_claim(const Claim& claim) const {
  const std::string volume = volume_of_claim(claim.uid);
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

std::set<std::string> UnorderedCopies::names() const {
  std::set<std::string> names;
  for_each(
      [&](const NodeIdentity&, const ToldCopy& copy) { names.insert(copy_name(copy.volume)); });
  return names;
}

std::optional<UnorderedCopies::Found> UnorderedCopies::find(const std::string& name) const {
  std::optional<Found> found;
  for_each([&](const NodeIdentity& node, const ToldCopy& copy) {
    if (copy_name(copy.volume) == name) found = Found{.node = node, .copy = copy};
  });
  return found;
}

void order_as_found(const ToldCopy& copy, CopyOrder& order) {
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
