#include "provisioner/controller/capacity/capacity_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

constexpr std::uint64_t kSteps = 100;

}  // namespace

bool needs_update(Bytes published, Bytes now, const std::function<std::vector<Bytes>()>& waiting) {
  if (now < published) return true;
  if (now == published) return false;
  if (published == Bytes(0) || (now - published).count() >= now.count() / kSteps) return true;
  const std::vector<Bytes> sizes = waiting();
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](Bytes size) { return published < size && size <= now; });
}

}  // namespace flexlocal::provisioner
