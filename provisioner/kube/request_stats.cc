#include "provisioner/kube/request_stats.h"

#include <algorithm>

namespace flexlocal::kube {

void RequestStats::count(Method method, int status) {
  const auto find = [&](int wanted) {
    return std::find_if(counts_.begin(), counts_.end(), [&](const Count& count) {
      return count.method == method && count.status == wanted;
    });
  };
  auto found = find(status);
  if (found == counts_.end() && counts_.size() >= kMostCounts) found = find(status = kOtherStatus);
  if (found == counts_.end()) found = counts_.insert(counts_.end(), {method, status, {}});
  found->requests.add();
}

}  // namespace flexlocal::kube
