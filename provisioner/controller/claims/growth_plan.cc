#include "provisioner/controller/claims/growth_plan.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_pair_of_ours(const Claim& claim, const Volume& volume, const std::string& node) {
  const bool here = volume.node == node && is_ours(volume);
  // The claim's status says that both are bound; the volume's own comes a moment later.
  const bool bound = claim.phase == "Bound" && claim.volume_name == volume.name &&
                     volume.claim_uid == claim.uid && volume.phase != "Released" &&
                     volume.phase != "Failed";
  return here && bound && !claim.deleting && !volume.deleting;
}

// Quota charges what is allocated, if that is more than the request.
bool is_settled(const Claim& claim, Bytes size) {
  const auto allocated = parse_quantity(claim.allocated);
  const bool overcharged = allocated && *allocated > size;
  return claim.resize_status.empty() && claim.resize_error.empty() && !claim.file_system_pending &&
         !overcharged;
}

}  // namespace

GrowthPlan plan_growth(const Claim& claim, const Volume* volume, const std::string& node,
                       const std::string& cluster_id) {
  if (volume == nullptr || !is_pair_of_ours(claim, *volume, node)) return LeaveAlone{};
  const auto requested = parse_quantity(claim.requested);
  const auto offered = parse_quantity(volume->capacity);
  // Until the controller has written it, the status says nothing: then nothing is known to lack.
  const auto reported = parse_quantity(claim.capacity);
  if (!requested || !offered || !reported) return LeaveAlone{};
  const bool complete = *reported >= *requested;
  const Settle settle{*reported, *offered != *reported, !is_settled(claim, *reported)};
  if (complete && !settle.capacity_differs && !settle.status_differs) return LeaveAlone{};
  auto spec = spec_of(*volume);
  if (complete && !(spec && spec->cluster_id == cluster_id)) return LeaveAlone{};
  if (complete) return settle;
  if (!spec) return Refuse{concat("the volume cannot grow: ", spec.error().message())};
  if (spec->cluster_id != cluster_id)
    return Refuse{"the volume was made for another cluster and does not grow"};
  return Growth{std::move(*spec), *requested};
}

Promise promise_of(const Growth& growth, Bytes size) {
  return {growth.spec.name.text(), growth.spec.backend, growth.spec.pool, size};
}

}  // namespace flexlocal::provisioner
