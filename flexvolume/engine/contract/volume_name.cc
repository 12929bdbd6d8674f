#include "flexvolume/engine/contract/volume_name.h"

#include <algorithm>

#include "flexvolume/base/hex.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPoolPrefix = "flexlocal-";

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_lower_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

}  // namespace

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !is_lower_hex(text[i])) return false;
  }
  return true;
}

std::string to_uuid(std::string_view bytes) {
  const std::string hex = to_hex(bytes);
  return concat(hex.substr(0, 8), '-', hex.substr(8, 4), '-', hex.substr(12, 4), '-',
                hex.substr(16, 4), '-', hex.substr(20));
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_lower_alnum(text.front()) &&
         is_lower_alnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower_alnum(c) || c == '-';
         });
}

bool is_dns_subdomain(std::string_view text) {
  return !text.empty() && text.size() <= 253 && is_lower_alnum(text.front()) &&
         is_lower_alnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower_alnum(c) || c == '-' || c == '.';
         });
}

bool is_copy_id(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return text.size() == kDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_lvm_name(std::string_view text) {
  return !text.empty() && text.size() <= 127 && text.front() != '-' && text != "." &&
         text != ".." && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alnum(c) || c == '+' || c == '_' || c == '.' || c == '-';
         });
}

Result<VolumeName> VolumeName::parse(std::string_view text) {
  if (!text.starts_with("pvc-") || !is_uuid(text.substr(4)))
    return Error(
        ErrorCode::kInvalid,
        concat('"', printable(text, 80), "\" is not the name of a flexlocal volume (pvc-<uid>)"));
  return VolumeName(std::string(text));
}

VolumeName VolumeName::of_pool(std::string_view pool) {
  return VolumeName(concat(kPoolPrefix, pool));
}

Result<VolumeName> VolumeName::parse_any(std::string_view text) {
  if (text.starts_with(kPoolPrefix) && is_dns_label(text.substr(kPoolPrefix.size())))
    return VolumeName(std::string(text));
  return parse(text);
}

bool VolumeName::is_of_pool() const { return text_.starts_with(kPoolPrefix); }

Result<VolumeName> VolumeName::of_claim(std::string_view uid) { return parse(concat("pvc-", uid)); }

std::string device_path(std::string_view volume_group, std::string_view logical_volume) {
  std::string path = "/dev/mapper/";
  const auto escape = [&](std::string_view part) {
    for (const char c : part) path.append(c == '-' ? 2 : 1, c);
  };
  escape(volume_group);
  path += '-';
  escape(logical_volume);
  return path;
}

}  // namespace flexlocal::engine
