// Which pods had volumes for one pod at a time last, and what they are called. That a pod has one
// now, only its mounts show: the uid says whose to look at, and the name is for the words of a
// refusal.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/volume_name.h"

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
  // The pod for which the volume was mounted last since the host's start; empty when that is not
  // known.
  std::string last_uid(const VolumeName& volume) const;
  // "namespace/name", made printable; empty when that pod's is not known.
  std::string of(const VolumeName& volume, const std::string& pod_uid) const;
  // The volume is gone. Nothing depends on it.
  void forget(const VolumeName& volume) const;

 private:
  std::vector<std::string> lines_of(const VolumeName& volume) const;
  std::string path_of(const VolumeName& volume) const;
  std::string folder_;
};

}  // namespace flexlocal::engine
