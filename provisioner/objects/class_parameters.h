// A StorageClass's parameters and mount options, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flexvolume/engine/contract/contract.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// What a volume's size is reckoned from.
enum class SizeFrom {
  kRequest,   // what the claim asks for
  kPodMemory  // that, and no less than goes with the memory of the pod that it is made for
};

struct ClassParameters {
  engine::Backend backend = engine::Backend::kLvm;
  engine::FsType fs_type = engine::FsType::kXfs;
  std::string pool = "default";
  engine::OnDelete on_delete = engine::OnDelete::kDiscard;
  engine::IoLimits limits{};
  std::vector<std::string> mount_options{};
  std::optional<Ratio> disk_per_ram{};  // nullopt: what the node says
  SizeFrom size_from = SizeFrom::kRequest;
};

// kInvalid, in one sentence that lists what is accepted, for a parameter that is unknown, malformed
// or at odds with another: a promise that is not kept is worse than a claim that stays pending.
Result<ClassParameters> parse_class(const StorageClass& storage_class);

}  // namespace flexlocal::provisioner
