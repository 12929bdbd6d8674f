// What is done about volumes that nobody stands for any more.
#pragma once

#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

enum class OrphanPolicy {
  kReport,  // say it, and leave it to a person
  kDelete   // remove it as a reclaim would
};

// kInvalid lists what is accepted: "report", "delete".
Result<OrphanPolicy> parse_orphan_policy(std::string_view text);

}  // namespace flexlocal::provisioner
