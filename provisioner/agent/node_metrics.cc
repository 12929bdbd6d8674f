#include "provisioner/agent/node_metrics.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/durable_counter.h"
#include "provisioner/kube/client_metrics.h"

namespace flexlocal::provisioner {
namespace {

using kube::Counter;
using kube::Family;
using kube::Gauge;

constexpr std::array kBackends = {engine::Backend::kLvm, engine::Backend::kThin,
                                  engine::Backend::kQuota};

double number(Bytes bytes) { return static_cast<double>(bytes.count()); }

Status not_ready(std::string why) { return Error(ErrorCode::kUnavailable, std::move(why)); }

template <typename T>
Status synced(const kube::Informer<T>& informer) {
  if (informer.has_synced()) return {};
  return not_ready(concat("the list of ", informer.kind(), " is not complete yet"));
}

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

using BudgetFigure = std::optional<Bytes> (*)(const NodeParts& parts, const std::string& pool);

void show_budget(kube::Metrics& metrics, const NodeParts& parts, const engine::NodeConfig& config,
                 kube::MetricSpec spec, BudgetFigure figure) {
  spec.labels = {"pool"};
  metrics.collect<Gauge>(std::move(spec), [&parts, &config, figure](Family<Gauge>& out) {
    if (parts.ledger.last_seen() == nullptr) return;
    for (const auto& [pool, configured] : config.pools)
      if (const auto value = figure(parts, pool)) out.with({pool}).set(number(*value));
  });
}

void show_budgets(kube::Metrics& metrics, const NodeParts& parts,
                  const engine::NodeConfig& config) {
  show_budget(metrics, parts, config,
              {"flexlocal_pool_ram_budget_bytes",
               "What the pool's volumes may have in all, for classes without diskPerRam; absent "
               "without a limit."},
              [](const NodeParts& of, const std::string&) { return of.budget.limit({}); });
  show_budget(metrics, parts, config,
              {"flexlocal_pool_given_bytes", "What the pool's volumes have in all."},
              [](const NodeParts& of, const std::string& pool) {
                return std::optional(of.ledger.given(pool, "", ""));
              });
}

void show_volumes(kube::Metrics& metrics, const NodeParts& parts) {
  metrics.collect<Gauge>(
      {"flexlocal_volumes", "PersistentVolumes of this node, by their phase.", {"phase"}},
      [&parts](Family<Gauge>& out) {
        parts.volumes.for_each(
            [&](const std::string&, const Volume& volume) { out.with({volume.phase}).add(1); });
      });
  metrics.collect_gauge(
      "flexlocal_wiping_volumes", "Volumes whose wiping has begun and is not complete.", [&parts] {
        const engine::Inventory* const seen = parts.ledger.last_seen();
        if (seen == nullptr) return 0.0;
        return static_cast<double>(std::count_if(
            seen->volumes.begin(), seen->volumes.end(), [](const engine::LogicalVolume& volume) {
              return volume.ownership && volume.ownership->wiping;
            }));
      });
  metrics.collect_gauge(
      "flexlocal_retained_volumes",
      "Volumes without a PersistentVolume that the policy Retain keeps.", [&parts] {
        const engine::Inventory* const seen = parts.ledger.last_seen();
        if (seen == nullptr) return 0.0;
        return static_cast<double>(std::count_if(
            seen->retained.begin(), seen->retained.end(), [&](const engine::RetainedVolume& kept) {
              return kept.cluster_id == parts.cluster_id && parts.volumes.get(kept.name) == nullptr;
            }));
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

Status node_readiness(const NodeParts& parts) {
  for (const Status& list : {synced(parts.claims), synced(parts.volumes), synced(parts.classes)})
    if (!list) return list;
  if (parts.ledger.trouble())
    return parts.ledger.trouble()->context("the last look at this node's disks failed");
  if (parts.ledger.last_seen() == nullptr)
    return not_ready("this node's disks have not been looked at yet");
  return parts.kubelet_init.look();
}

void show_node(kube::Metrics& metrics, const NodeParts& parts, const kube::WorkQueue& queue,
               const engine::NodeConfig& config, const std::string& host_counts) {
  parts.work.show_in(metrics);
  show_pools(metrics, parts.ledger, config);
  show_budgets(metrics, parts, config);
  show_volumes(metrics, parts);
  show_host_count(metrics, host_counts, engine::kIoLimitsNotApplied,
                  {"flexlocal_mounts_without_io_limits_total",
                   "Mounts that succeeded although the limits of their class could not be set."});
  show_host_count(metrics, host_counts, engine::kMountsRefused,
                  {"flexlocal_mounts_refused_total",
                   "Calls of kubelet that the host's record of the volume does not allow."});
  metrics.collect_gauge("flexlocal_ready", "Whether /readyz says so.",
                        [&parts] { return node_readiness(parts) ? 1.0 : 0.0; });
  kube::show_queue(metrics, queue, "node");
  kube::show_requests(metrics, parts.api);
  kube::show_informers(metrics,
                       {kube::InformerView(parts.claims), kube::InformerView(parts.volumes),
                        kube::InformerView(parts.classes)});
}

}  // namespace flexlocal::provisioner
