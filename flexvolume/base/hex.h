// Bytes as hexadecimal text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flexlocal {

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);
// Nothing unless the text is an even number of hexadecimal digits of either case.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace flexlocal
