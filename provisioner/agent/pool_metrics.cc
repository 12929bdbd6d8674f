#include "provisioner/agent/pool_metrics.h"

#include <array>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/durable_counter.h"

namespace flexlocal::provisioner {
namespace {

using kube::Counter;
using kube::Family;
using kube::Gauge;

constexpr std::array kBackends = {engine::Backend::kLvm, engine::Backend::kThin,
                                  engine::Backend::kQuota};

double number(Bytes bytes) { return static_cast<double>(bytes.count()); }

// visit(pool's name, backend, space) for all that the last look at the disks has seen of the pools
// that node.conf defines.
template <typename Visit>
void for_each_space(const Ledger& ledger, const engine::NodeConfig& config, Visit visit) {
  const engine::Inventory* const seen = ledger.last_seen();
  if (seen == nullptr) return;
  for (const auto& [name, pool] : config.pools)
    for (const engine::Backend backend : kBackends) {
      const std::string id = engine::space_id(backend, name, pool);
      for (const engine::Space& space : seen->spaces)
        if (!id.empty() && space.id == id) visit(name, backend, space);
    }
}

using Figure = std::optional<double> (*)(const engine::Space& space);

void show_spaces(kube::Metrics& metrics, const Ledger& ledger, const engine::NodeConfig& config,
                 kube::MetricSpec spec, Figure figure) {
  spec.labels = {"pool", "backend"};
  metrics.collect<Gauge>(std::move(spec), [&ledger, &config, figure](Family<Gauge>& out) {
    for_each_space(ledger, config,
                   [&](const std::string& pool, engine::Backend backend, const auto& space) {
                     if (const auto value = figure(space))
                       out.with({pool, engine::to_string(backend)}).set(*value);
                   });
  });
}

using BudgetFigure = std::optional<Bytes> (*)(const Ledger& ledger, const NodeBudget& budget,
                                              const std::string& pool);

void show_budget(kube::Metrics& metrics, const Ledger& ledger, const NodeBudget& budget,
                 const engine::NodeConfig& config, kube::MetricSpec spec, BudgetFigure figure) {
  spec.labels = {"pool"};
  metrics.collect<Gauge>(std::move(spec), [&ledger, &budget, &config, figure](Family<Gauge>& out) {
    if (ledger.last_seen() == nullptr) return;
    for (const auto& [pool, configured] : config.pools)
      if (const auto value = figure(ledger, budget, pool)) out.with({pool}).set(number(*value));
  });
}

// A count that cannot be read is left out: it is none that fell to zero.
void show_host_count(kube::Metrics& metrics, const std::string& folder, std::string_view count,
                     kube::MetricSpec spec) {
  // It is only read, so that there is no lock.
  const engine::DurableCounter counter(folder, "", count);
  metrics.collect<Counter>(std::move(spec), [counter](Family<Counter>& out) {
    const auto value = counter.value();
    out.clear();
    if (value) out.with({}).add(static_cast<double>(*value));
  });
}

}  // namespace

void show_pools(kube::Metrics& metrics, const Ledger& ledger, const engine::NodeConfig& config) {
  show_spaces(metrics, ledger, config,
              {"flexlocal_pool_size_bytes",
               "What volumes may take of the pool in all, overcommitment included; pools may "
               "share it."},
              [](const engine::Space& space) { return std::optional(number(space.size)); });
  show_spaces(metrics, ledger, config,
              {"flexlocal_pool_free_bytes",
               "What existing volumes leave of it; what is promised and not made yet is free "
               "here."},
              [](const engine::Space& space) { return std::optional(number(space.free)); });
  show_spaces(metrics, ledger, config,
              {"flexlocal_thin_pool_data_percent", "How full the thin pool's data is."},
              [](const engine::Space& space) -> std::optional<double> {
                if (!space.thin_use) return std::nullopt;
                return space.thin_use->data;
              });
  show_spaces(metrics, ledger, config,
              {"flexlocal_thin_pool_metadata_percent", "How full the thin pool's metadata is."},
              [](const engine::Space& space) -> std::optional<double> {
                if (!space.thin_use) return std::nullopt;
                return space.thin_use->metadata;
              });
}

void show_budgets(kube::Metrics& metrics, const Ledger& ledger, const NodeBudget& budget,
                  const engine::NodeConfig& config) {
  show_budget(metrics, ledger, budget, config,
              {"flexlocal_pool_ram_budget_bytes",
               "What the pool's volumes may have in all, for classes without diskPerRam; absent "
               "without a limit."},
              [](const Ledger&, const NodeBudget& of, const std::string&) { return of.limit({}); });
  show_budget(metrics, ledger, budget, config,
              {"flexlocal_pool_given_bytes", "What the pool's volumes have in all."},
              [](const Ledger& of, const NodeBudget&, const std::string& pool) {
                return std::optional(of.given(pool, "", ""));
              });
}

void show_host_counts(kube::Metrics& metrics, const std::string& host_counts) {
  show_host_count(metrics, host_counts, engine::kIoLimitsNotApplied,
                  {"flexlocal_mounts_without_io_limits_total",
                   "Mounts that succeeded although the limits of their class could not be set."});
  show_host_count(metrics, host_counts, engine::kMountsRefused,
                  {"flexlocal_mounts_refused_total",
                   "Calls of kubelet that the host's record of the volume does not allow."});
}

Status not_ready(std::string why) { return Error(ErrorCode::kUnavailable, std::move(why)); }

Status disks_readiness(const Ledger& ledger) {
  if (ledger.trouble())
    return ledger.trouble()->context("the last look at this node's disks failed");
  if (ledger.last_seen() == nullptr)
    return not_ready("this node's disks have not been looked at yet");
  return {};
}

}  // namespace flexlocal::provisioner
