// The lists of objects that the cluster role follows: of one node, and of all its claims and
// classes, only what concerns that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "provisioner/controller/view/cluster_options.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/heartbeat_record.h"
#include "provisioner/objects/objects.h"
#include "provisioner/objects/volume_copy.h"
#include "provisioner/work/reconcile_loop.h"

namespace flexlocal::provisioner {

class ClusterLists {
 public:
  // `options` outlive it. `copies`: see ClusterRole.
  ClusterLists(kube::ApiClient& api, Log& log, const ClusterRoleOptions& options,
               kube::Informer<VolumeCopy>* copies);
  ClusterLists(const ClusterLists&) = delete;
  ClusterLists& operator=(const ClusterLists&) = delete;

  kube::Informer<Claim>& claims() { return claims_; }
  kube::Informer<Volume>& volumes() { return volumes_; }
  kube::Informer<StorageClass>& classes() { return classes_; }
  kube::Informer<Node>& nodes() { return nodes_; }
  kube::Informer<NodeHeartbeat>& beats() { return beats_; }
  kube::Informer<VolumeCopy>& copies() { return copies_; }

  // Follows them in tasks of the loop.
  void follow(ReconcileLoop& loop);
  bool has_synced() const;
  // kUnavailable, in words, while one is not complete.
  Status readiness() const;

 private:
  Task<void> follow_claims();
  void know_class(const std::string& name);
  std::optional<Claim> decode(JsonView claim) const;
  std::optional<Volume> decode_own_volume(JsonView object) const;
  auto informers() const { return std::tie(claims_, volumes_, classes_, nodes_, beats_, copies_); }

  const ClusterRoleOptions& options_;
  ClassNames class_names_;  // that are ours; for good: a bound claim needs us without its class
  kube::Informer<Claim> claims_;
  kube::Informer<Volume> volumes_;
  kube::Informer<StorageClass> classes_;
  kube::Informer<Node> nodes_;
  kube::Informer<NodeHeartbeat> beats_;
  std::unique_ptr<kube::Informer<VolumeCopy>> own_copies_;  // nullptr: somebody else reads them
  kube::Informer<VolumeCopy>& copies_;
};

}  // namespace flexlocal::provisioner
