// A StorageClass's parameters and mount options, checked.
#pragma once

#include <string>
#include <vector>

#include "flexvolume/engine/contract.h"
#include "provisioner/objects.h"

namespace flexlocal::provisioner {

struct ClassParameters {
  engine::Backend backend = engine::Backend::kLvm;
  engine::FsType fs_type = engine::FsType::kXfs;
  std::string pool = "default";
  engine::OnDelete on_delete = engine::OnDelete::kDiscard;
  engine::IoLimits limits{};
  std::vector<std::string> mount_options{};
};

// kInvalid, in one sentence that lists what is accepted, for a parameter that is unknown, malformed
// or at odds with another: a promise that is not kept is worse than a claim that stays pending.
Result<ClassParameters> parse_class(const StorageClass& storage_class);

}  // namespace flexlocal::provisioner
