#include "provisioner/controller/claims/claim_order.h"

namespace flexlocal::provisioner {

CopyOrder order_for_claim(const Order& decided, const Claim& claim,
                          const StorageClass& storage_class, const NodeIdentity& node,
                          const std::string& cluster_id, std::string copy) {
  const ClassParameters& parameters = decided.parameters;
  CopyOrder order(decided.name);
  order.volume = engine::VolumeSpec{.name = decided.name,
                                    .copy = std::move(copy),
                                    .cluster_id = cluster_id,
                                    .claim_namespace = claim.namespace_name,
                                    .pool = parameters.pool,
                                    .backend = parameters.backend,
                                    .fs_type = parameters.fs_type,
                                    .size = decided.requested,
                                    .on_delete = parameters.on_delete,
                                    .limits = parameters.limits,
                                    .mount_options = parameters.mount_options,
                                    .access_mode = access_mode_of(claim.access_modes)};
  order.node = node.name;
  order.node_uid = node.uid;
  order.hostname = node.hostname;
  order.claim_name = claim.name;
  order.claim_uid = claim.uid;
  order.storage_class = storage_class.name;
  // The API server fills in Delete when a class names no policy.
  order.reclaim_policy =
      storage_class.reclaim_policy.empty() ? "Delete" : storage_class.reclaim_policy;
  order.disk_per_ram = parameters.disk_per_ram;
  return order;
}

}  // namespace flexlocal::provisioner
