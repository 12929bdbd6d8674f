#include "provisioner/controller/claims/claim_plan.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// The reason for which no node could ever serve the claim.
std::optional<std::string> objection(const Claim& claim) {
  if (claim.volume_mode == "Block") return "volumeMode Block is not supported; use Filesystem";
  for (const std::string& mode : claim.access_modes)
    if (mode != "ReadWriteOnce" && mode != "ReadWriteOncePod")
      return concat("access mode ", printable(mode, 40),
                    " is not possible on a local disk; accepted: ReadWriteOnce, "
                    "ReadWriteOncePod");
  if (claim.has_data_source) return "dataSource is not supported: a local volume starts empty";
  if (claim.has_selector)
    return "a selector is not supported: volumes are made for the claim, not chosen";
  // A PersistentVolume that is not CSI's cannot have one, and without it no claim is bound that has
  // one (pkg/apis/core/validation, component-helpers storage/volume FindMatchingVolume).
  if (!claim.attributes_class.empty())
    return concat(
        "volumeAttributesClassName ", printable(claim.attributes_class, 80),
        " is not supported: make the claim anew without it, and put what the volume is to "
        "be like into its StorageClass");
  return std::nullopt;
}

ClaimPlan plan_open(const Claim& claim, const StorageClass* storage_class) {
  if (const auto why = objection(claim)) return Refuse{*why};
  if (storage_class == nullptr)
    return Refuse{concat("StorageClass ", printable(claim.storage_class, 80),
                         " is gone or is not one of flexlocal.io")};
  auto parameters = parse_class(*storage_class);
  if (!parameters) return Refuse{parameters.error().message()};
  const auto requested = parse_quantity(claim.requested);
  if (!requested) return Refuse{concat("the size asked for: ", requested.error().message())};
  const auto sized = engine::check_size(parameters->backend, parameters->fs_type, *requested);
  if (!sized) return Refuse{sized.error().message()};
  auto name = engine::VolumeName::of_claim(claim.uid);
  if (!name) return Refuse{concat("the claim's uid is not one: ", name.error().message())};
  return Order{std::move(*name), std::move(*parameters), *requested};
}

}  // namespace

ClaimPlan plan_claim(const Claim& claim, const StorageClass* storage_class, bool volume_exists,
                     const std::string& node) {
  if (claim.deleting || !claim.volume_name.empty() || volume_exists || claim.selected_node != node)
    return LeaveAlone{};
  ClaimPlan plan = plan_open(claim, storage_class);
  if (!claim.marked && std::holds_alternative<Refuse>(plan)) return LeaveAlone{};
  return plan;
}

bool is_meant_for(const Volume& volume, const Claim& claim) {
  return volume.claim_namespace == claim.namespace_name && volume.claim_name == claim.name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.uid);
}

Promise promise_of(const Order& order) {
  return {order.name.text(), order.parameters.backend, order.parameters.pool, order.requested};
}

}  // namespace flexlocal::provisioner
