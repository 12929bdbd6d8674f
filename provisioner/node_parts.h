// What the pieces of the node role share; made once, in node_role.cc.
#pragma once

#include <string>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/log.h"
#include "provisioner/budget.h"
#include "provisioner/grant_signer.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/ledger.h"
#include "provisioner/objects.h"
#include "provisioner/storage.h"
#include "provisioner/volume_object.h"
#include "provisioner/work_metrics.h"

namespace flexlocal::provisioner {

// What one pass over a claim or a volume came to, when it did not fail.
enum class Pass {
  kDone,
  kAgain  // begun, with more to do: it comes again soon, behind whatever else waits
};

struct NodeParts {
  kube::ApiClient& api;
  kube::EventRecorder& events;
  kube::Informer<Claim>& claims;
  kube::Informer<Volume>& volumes;
  kube::Informer<StorageClass>& classes;
  Storage& storage;
  Ledger& ledger;
  GrantSigner& grants;
  const Clock& clock;
  Log& log;
  NodeIdentity node;
  std::string cluster_id;
  NodeBudget budget{};
  WorkMetrics work{};
};

}  // namespace flexlocal::provisioner
