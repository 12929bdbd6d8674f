// What can be the name of an object, or a label's value: k8s.io/apimachinery/pkg/util/validation.
#pragma once

#include <string_view>

namespace flexlocal::provisioner {

inline constexpr std::size_t kMostLabelValue = 63;

// IsDNS1123Subdomain: of Nodes, claims, StorageClasses and most others.
bool is_dns_subdomain(std::string_view text);
// IsValidLabelValue, and not empty.
bool is_label_value(std::string_view text);

}  // namespace flexlocal::provisioner
