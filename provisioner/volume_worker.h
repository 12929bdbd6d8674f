// Carries out the plan for a volume that is on its way out.
#pragma once

#include <string>

#include "provisioner/node_parts.h"
#include "provisioner/reclaim_plan.h"

namespace flexlocal::provisioner {

class VolumeWorker {
 public:
  explicit VolumeWorker(NodeParts& parts) : parts_(parts) {}

  // One pass over the PersistentVolume of that name. An Error means: again, after a pause.
  Task<Status> work(const std::string& name);

 private:
  Task<Status> remove(const Volume& volume);
  Task<Result<std::optional<Volume>>> read_again(const Volume& volume);
  Task<Status> take_back(const Volume& volume);
  Task<Status> let_go(const Volume& volume);
  Task<Status> drop_finalizer(const Volume& volume);
  void say(const Volume& volume, std::string_view reason, const std::string& message);

  NodeParts& parts_;
};

}  // namespace flexlocal::provisioner
