#include "provisioner/controller/capacity/capacity_plan.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

constexpr std::uint64_t kSteps = 100;

}  // namespace

bool must_tell(Bytes told, Bytes now, const std::function<std::vector<Bytes>()>& waiting) {
  if (now < told) return true;
  if (now == told) return false;
  if (told == Bytes(0) || (now - told).count() >= now.count() / kSteps) return true;
  const std::vector<Bytes> sizes = waiting();
  return std::any_of(sizes.begin(), sizes.end(),
                     [&](Bytes size) { return told < size && size <= now; });
}

}  // namespace flexlocal::provisioner
