#include "flexvolume/base/text.h"

#include <algorithm>

namespace flexlocal {
namespace {

struct Character {
  std::size_t bytes = 0;  // 0: what stands there is not UTF-8
  char32_t code = 0;
};

// The first character of a text that is not empty. As RFC 3629 has it: the shortest form only, no
// surrogates, nothing above U+10FFFF.
Character first_character(std::string_view text) {
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t bytes = lead < 0xc0   ? 0
                            : lead < 0xe0 ? 2
                            : lead < 0xf0 ? 3
                            : lead < 0xf8 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {};
  return {bytes, code};
}

bool is_control(char32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

}  // namespace

std::string join(const std::vector<std::string>& pieces, std::string_view between) {
  std::string out;
  for (const std::string& piece : pieces) {
    if (!out.empty()) out += between;
    out += piece;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    pieces.push_back(text.substr(0, end));
    if (end == text.size()) return pieces;
    text.remove_prefix(end + 1);
    if (text.empty()) pieces.push_back(text);
  }
  return pieces;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = first_character(text.substr(at));
    const std::size_t bytes = std::max<std::size_t>(next.bytes, 1);
    if (at + bytes > limit) return out + "...";
    if (next.bytes == 0 || is_control(next.code))
      out += '?';
    else
      out += text.substr(at, bytes);
    at += bytes;
  }
  return out;
}

bool parse_number(std::string_view text, unsigned long long most, unsigned long long& out) {
  if (text.empty() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  unsigned long long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return false;
  out = number;
  return true;
}

}  // namespace flexlocal
