#include "provisioner/objects/names.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}

}  // namespace

bool is_label_value(std::string_view text) {
  return !text.empty() && text.size() <= kMostLabelValue && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alphanumeric(c) || c == '-' || c == '.' || c == '_';
         });
}

}  // namespace flexlocal::provisioner
