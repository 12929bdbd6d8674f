// Who may mount a volume: the record on the host says it, and nothing that came with the call but
// which volume and copy are meant, and of which namespace kubelet says that the pod is.
#pragma once

#include <string>

#include "flexvolume/base/log.h"
#include "flexvolume/engine/volume/durable_counter.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {

class Admission {
 public:
  // `cluster_file`: where the host keeps which cluster it is of. `refusals`: counts what is denied.
  Admission(const RecordStore& records, std::string cluster_file, DurableCounter refusals, Log& log)
      : records_(records),
        cluster_file_(std::move(cluster_file)),
        refusals_(std::move(refusals)),
        log_(log) {}

  // See Engine::join_cluster.
  Status join_cluster(const std::string& cluster_id) const;
  // The record, if it lets a pod of that namespace mount. Errors as Engine::mount.
  Result<Record> admit(const VolumeCall& call, const std::string& pod_namespace) const;
  // The record, if it is of the very copy. Errors as admit().
  Result<Record> admit_growth(const VolumeCall& call) const;

 private:
  Result<Record> load(const VolumeName& name) const;
  Status check_cluster(const Record& record) const;
  Status count(const Status& allowed) const;

  const RecordStore& records_;
  std::string cluster_file_;
  DurableCounter refusals_;
  Log& log_;
};

}  // namespace flexlocal::engine
