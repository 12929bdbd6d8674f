#include "flexvolume/base/text.h"

#include <algorithm>

namespace flexlocal {

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
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (text.size() > limit) out += "...";
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
