// Base64 (RFC 4648, padded), as kubeconfigs and Secrets carry it.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::kube {

// Line breaks are stepped over; kInvalid on anything else that is not base64.
Result<std::string> decode_base64(std::string_view text);

std::string encode_base64(std::string_view bytes);

}  // namespace flexlocal::kube
