#include "provisioner/kube/base64.h"

#include <cstdint>

namespace flexlocal::kube {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string without_line_breaks(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != '\r' && c != '\n') out += c;
  return out;
}

Error not_base64() { return Error(ErrorCode::kInvalid, "not base64"); }

}  // namespace

Result<std::string> decode_base64(std::string_view text) {
  std::string digits = without_line_breaks(text);
  if (digits.size() % 4 != 0) return not_base64();
  std::size_t padding = 0;
  while (padding < 2 && !digits.empty() && digits.back() == '=') {
    digits.pop_back();
    ++padding;
  }
  std::string out;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : digits) {
    const std::size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos) return not_base64();
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>((bits >> count) & 0xFFU);
  }
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = (bits << 8U) | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      out += i <= group.size() ? kAlphabet[(bits >> (18 - 6 * i)) & 63U] : '=';
  }
  return out;
}

}  // namespace flexlocal::kube
