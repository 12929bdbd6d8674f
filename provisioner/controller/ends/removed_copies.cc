#include "provisioner/controller/ends/removed_copies.h"

namespace flexlocal::provisioner {

Task<Requeue> RemovedCopies::bury(const VolumeCopy& copy) {
  const auto now = clock_.now();
  const auto since = since_.try_emplace(copy.name, now).first->second;
  if (now - since < kRemovedStays) co_return kRemovedStays - (now - since);
  auto removed = co_await desk_.remove(copy);
  if (!removed) co_return removed.error();
  since_.erase(copy.name);
  co_return std::nullopt;
}

}  // namespace flexlocal::provisioner
