#include "provisioner/controller/ends/orphan_ages.h"

#include <algorithm>

#include "provisioner/controller/reclaim/orphaned_copy_plan.h"

namespace flexlocal::provisioner {

void OrphanAges::begin_look(const std::string& name) {
  const auto now = clock_.now();
  known_.try_emplace(name, Known{.since = now, .removable_since = now});
  rest(name, std::min<std::chrono::nanoseconds>(options_.grace, kOrphanTold));
}

std::chrono::nanoseconds OrphanAges::next_look(const std::string& name) const {
  const auto known = known_.find(name);
  return known == known_.end() ? std::chrono::nanoseconds(0) : known->second.next - clock_.now();
}

void OrphanAges::rest(const std::string& name, std::chrono::nanoseconds pause) {
  const auto known = known_.find(name);
  if (known != known_.end()) known->second.next = clock_.now() + pause;
}

void OrphanAges::found_none(const std::string& name) {
  const auto known = known_.find(name);
  if (known != known_.end()) known->second.since = known->second.removable_since = clock_.now();
}

OrphanAges::Age OrphanAges::look(const std::string& name, bool removable) {
  const auto known = known_.find(name);
  if (known == known_.end()) return {};
  const auto now = clock_.now();
  if (!removable) known->second.removable_since = now;
  return {now - known->second.since, now - known->second.removable_since};
}

void OrphanAges::forget_unless(const std::function<bool(const std::string& name)>& is_there) {
  std::erase_if(known_, [&](const auto& known) { return !is_there(known.first); });
}

}  // namespace flexlocal::provisioner
