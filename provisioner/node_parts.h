// What the pieces of the node role share; made once, in node_role.cc.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/ledger.h"
#include "provisioner/objects.h"
#include "provisioner/storage.h"
#include "provisioner/volume_object.h"

namespace flexlocal::provisioner {

struct NodeParts {
  kube::ApiClient& api;
  kube::EventRecorder& events;
  kube::Informer<Claim>& claims;
  kube::Informer<Volume>& volumes;
  kube::Informer<StorageClass>& classes;
  Storage& storage;
  Ledger& ledger;
  Log& log;
  NodeIdentity node;
  std::string cluster_id;
};

}  // namespace flexlocal::provisioner
