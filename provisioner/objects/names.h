// What can be the name of an object, or a label's value: k8s.io/apimachinery/pkg/util/validation.
#pragma once

#include <string_view>

#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::provisioner {

inline constexpr std::size_t kMostLabelValue = 63;

using engine::is_dns_subdomain;
// IsValidLabelValue, and not empty.
bool is_label_value(std::string_view text);

}  // namespace flexlocal::provisioner
