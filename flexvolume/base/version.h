#pragma once

#include <string_view>

namespace flexlocal {

// As git describes the source both programs were built from: "v0.1.0-3-gabcdef0".
std::string_view version();

}  // namespace flexlocal
