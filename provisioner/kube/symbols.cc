#include "provisioner/kube/symbols.h"

#include <cassert>

namespace flexlocal::kube {

Symbols::Id Symbols::take(std::string_view text) {
  const auto [found, is_new] = ids_.try_emplace(std::string(text), 0);
  if (!is_new) {
    ++entries_[found->second].uses;
    return found->second;
  }
  if (free_.empty()) {
    free_.push_back(static_cast<Id>(entries_.size()));
    entries_.push_back({});
  }
  found->second = free_.back();
  free_.pop_back();
  entries_[found->second] = {&found->first, 1};
  return found->second;
}

void Symbols::release(Id id) {
  Entry& entry = entries_[id];
  assert(entry.uses != 0);
  if (--entry.uses != 0) return;
  ids_.erase(*entry.text);
  entry.text = nullptr;
  free_.push_back(id);
}

}  // namespace flexlocal::kube
