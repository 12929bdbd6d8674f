// What any node daemon shows of its node's disks, and whether they can be worked with.
#pragma once

#include <string>

#include "flexvolume/base/text.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/agent/ledger.h"
#include "provisioner/kube/informer.h"
#include "provisioner/kube/metrics.h"

namespace flexlocal::provisioner {

// Pools as the last look at the disks had them. All arguments must outlive `metrics`.
void show_pools(kube::Metrics& metrics, const Ledger& ledger, const engine::NodeConfig& config);
void show_budgets(kube::Metrics& metrics, const Ledger& ledger, const NodeBudget& budget,
                  const engine::NodeConfig& config);
// `host_counts`: the folder of what the plugin counts.
void show_host_counts(kube::Metrics& metrics, const std::string& host_counts);

// kUnavailable, in words.
Status not_ready(std::string why);

template <typename T>
Status check_synced(const kube::Informer<T>& informer) {
  if (informer.has_synced()) return {};
  return not_ready(concat("the list of ", informer.kind(), " is not complete yet"));
}

// The last look at the disks succeeded. Else kUnavailable, in words, or what was wrong with them.
Status disks_readiness(const Ledger& ledger);

}  // namespace flexlocal::provisioner
