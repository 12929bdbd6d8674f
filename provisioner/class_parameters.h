// A StorageClass's parameters, checked.
#pragma once

#include "flexvolume/engine/contract.h"
#include "provisioner/objects.h"

namespace flexlocal::provisioner {

struct ClassParameters {
  engine::Backend backend = engine::Backend::kLvm;
  engine::FsType fs_type = engine::FsType::kXfs;
  std::string pool = "default";
};

// kInvalid, in one sentence that lists what is accepted, for a parameter that is unknown or
// malformed: a promise that is not kept is worse than a claim that stays pending.
Result<ClassParameters> parse_class(const StorageClass& storage_class);

}  // namespace flexlocal::provisioner
