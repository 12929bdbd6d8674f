#include "provisioner/objects/names.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kMostSubdomain = 253;

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z'); }

// Of letters, with these others between the first and the last.
bool is_made_of(std::string_view text, bool (*is_letter)(char), std::string_view others) {
  return !text.empty() && is_letter(text.front()) && is_letter(text.back()) &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return is_letter(c) || others.find(c) != std::string_view::npos;
         });
}

}  // namespace

bool is_dns_subdomain(std::string_view text) {
  return text.size() <= kMostSubdomain && is_made_of(text, is_lower_alphanumeric, "-.");
}

bool is_label_value(std::string_view text) {
  return text.size() <= kMostLabelValue && is_made_of(text, is_alphanumeric, "-._");
}

}  // namespace flexlocal::provisioner
