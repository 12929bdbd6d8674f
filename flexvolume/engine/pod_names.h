// What the pods are called that have volumes for one pod at a time: for the words of a refusal
// only. The folder of a mount names a pod by its uid, and nobody is asked to know that.
#pragma once

#include <string>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/volume_name.h"

namespace flexlocal::engine {

struct NamedPod {
  std::string uid;
  std::string name;  // "namespace/name"
};

// `folder`: one small file a volume, in a folder that a reboot empties, as it does the mounts. A
// file may be older than the mount that is there; then it is of another uid.
class PodNames {
 public:
  explicit PodNames(std::string folder) : folder_(std::move(folder)) {}

  Status keep(const VolumeName& volume, const NamedPod& pod) const;
  // "namespace/name", made printable; empty when that pod's is not known.
  std::string of(const VolumeName& volume, const std::string& pod_uid) const;
  // The volume is gone. Nothing depends on it.
  void forget(const VolumeName& volume) const;

 private:
  std::string path_of(const VolumeName& volume) const;
  std::string folder_;
};

}  // namespace flexlocal::engine
