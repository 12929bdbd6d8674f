#include "flexvolume/base/hex.h"

#include <charconv>

namespace flexlocal {

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const char* end = digits.data() + i + 2;
    const auto read = std::from_chars(digits.data() + i, end, byte, 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
    out += static_cast<char>(byte);
  }
  return out;
}

}  // namespace flexlocal
