// The head of a watch event or of an object, found among its bytes without a tree being built.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flexlocal::kube {

// Views into the line.
struct EventHead {
  std::string_view type;
  std::string_view namespace_name;  // empty: cluster-scoped
  std::string_view name;
  std::string_view version;
  std::string_view managed_fields;  // the value, brackets and all; empty: there are none

  std::string key() const;  // as object_key() has it
};

// nullopt on whatever is not plainly such an event: escapes in what is looked for, a name that is
// there twice, other types, brackets that do not fit. Such a line is to be parsed in full, which
// also says what is wrong with it. Of the parts that are stepped over only strings and the number
// of brackets are looked at.
std::optional<EventHead> scan_event(std::string_view line);

// The same of an object by itself, as a list has it; its head has no type.
std::optional<EventHead> scan_object(std::string_view text);

}  // namespace flexlocal::kube
