#include "provisioner/kube/object_filter.h"

#include <algorithm>
#include <cstring>

namespace flexlocal::kube {
namespace {

// Faster than std::string_view::find, which looks at every quote when the mark begins with one.
bool contains(std::string_view text, std::string_view piece) {
  return ::memmem(text.data(), text.size(), piece.data(), piece.size()) != nullptr;
}

// Backslashes are rarer than what memmem would look at for two bytes.
bool has_unicode_escape(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1))
    if (text.substr(at + 1).starts_with('u')) return true;
  return false;
}

}  // namespace

bool concerns_us(std::string_view text, const EventHead& head, const ResourceKind& kind,
                 const ObjectSink& sink) {
  const auto occurs = [&](const std::string& mark) { return contains(text, mark); };
  return kind.marks.empty() || std::any_of(kind.marks.begin(), kind.marks.end(), occurs) ||
         has_unicode_escape(text) || sink.knows(head.key());
}

std::string_view without_managed_fields(std::string_view text, const EventHead& head,
                                        std::string& room) {
  const std::string_view fields = head.managed_fields;
  if (fields.empty()) return text;
  const auto before = static_cast<std::size_t>(fields.data() - text.data());
  room.assign(text.substr(0, before));
  room += "null";
  room += text.substr(before + fields.size());
  return room;
}

}  // namespace flexlocal::kube
