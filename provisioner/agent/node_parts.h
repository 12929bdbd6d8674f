// What the pieces of the node role share; made once, in node_role.cc.
#pragma once

#include <string>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/log.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/agent/kubelet_init.h"
#include "provisioner/agent/ledger.h"
#include "provisioner/agent/storage.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/objects/objects.h"
#include "provisioner/work/pass.h"
#include "provisioner/work/work_metrics.h"

namespace flexlocal::provisioner {

struct NodeParts {
  kube::ApiClient& api;
  kube::EventRecorder& events;
  kube::Informer<Claim>& claims;
  kube::Informer<Volume>& volumes;
  kube::Informer<StorageClass>& classes;
  Storage& storage;
  Ledger& ledger;
  KubeletInit& kubelet_init;
  const Clock& clock;
  Log& log;
  NodeIdentity node;
  std::string cluster_id;
  NodeBudget budget{};
  WorkMetrics work{};
};

}  // namespace flexlocal::provisioner
