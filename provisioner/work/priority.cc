#include "provisioner/work/priority.h"

#include "flexvolume/base/bytes.h"

namespace flexlocal::provisioner {
namespace {

// What is no quantity is refused later, in words; nobody waits for that.
bool asks_for_more(const Claim& claim, const Volume& volume) {
  const auto asked = parse_quantity(claim.requested);
  const auto there = parse_quantity(volume.capacity);
  return asked && there && *asked > *there;
}

}  // namespace

kube::Priority priority_of(const Claim* claim, const Volume* volume, const std::string& node) {
  if (claim == nullptr || claim->deleting) return kube::Priority::kBackground;
  const bool to_be_made = claim->selected_node == node && claim->volume_name.empty();
  const bool to_be_grown =
      volume != nullptr && volume->claim_uid == claim->uid && asks_for_more(*claim, *volume);
  return to_be_made || to_be_grown ? kube::Priority::kAwaited : kube::Priority::kBackground;
}

}  // namespace flexlocal::provisioner
