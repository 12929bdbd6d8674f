// Small pieces of text work that std 12 has no word for (no <format> there; Debian's fmt has no
// static library, and from its headers alone a file takes ten times as long to compile).
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace flexlocal {

inline void append(std::string& out, std::string_view piece) { out += piece; }
inline void append(std::string& out, char piece) { out += piece; }

template <std::integral Number>
requires(!std::same_as<Number, char> && !std::same_as<Number, bool>) void append(std::string& out,
                                                                                 Number number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

// concat("pool ", name, " has ", 3, " volumes")
template <typename... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string out;
  (append(out, pieces), ...);
  return out;
}

// "a", "b" -> "a, b"
std::string join(const std::vector<std::string>& pieces, std::string_view between);

// "a,,b" -> "a", "", "b"; an empty text has no pieces.
std::vector<std::string_view> split(std::string_view text, char at);

std::string_view trim(std::string_view text);

// How many bytes the first character of a text that is not empty has in UTF-8 as RFC 3629 has it:
// the shortest form only, no surrogates, nothing above U+10FFFF. 0: what stands there is none.
std::size_t utf8_length(std::string_view text);

// The text made safe for one log line or message: always UTF-8, since each byte that is not becomes
// '?', as control characters do. What is past `limit` bytes is cut, between two characters, and
// marked. For text that somebody else chose.
std::string printable(std::string_view text, std::size_t limit = 200);

// A whole decimal number within [0, most], digits only; nothing else is read as one.
bool parse_number(std::string_view text, unsigned long long most, unsigned long long& out);

}  // namespace flexlocal
