#include "provisioner/controller/reclaim/gone_nodes.h"

namespace flexlocal::provisioner {

GoneNodes::Verdict GoneNodes::verdict(const std::string& node, Instant now) const {
  const auto found = absent_.find(node);
  if (found == absent_.end()) return Verdict::kAsk;
  if (found->second.confirmed) return Verdict::kGone;
  return now - found->second.since < grace_ ? Verdict::kWait : Verdict::kAsk;
}

void GoneNodes::answered_absent(const std::string& node, Instant now) {
  const auto [found, is_first] = absent_.try_emplace(node, Absence{now});
  if (!is_first && now - found->second.since >= grace_) found->second.confirmed = true;
}

}  // namespace flexlocal::provisioner
