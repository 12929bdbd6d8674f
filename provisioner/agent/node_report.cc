#include "provisioner/agent/node_report.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

using engine::Backend;

Bytes size_of(const engine::Inventory& inventory, const std::string& space_id) {
  const auto found = std::find_if(inventory.spaces.begin(), inventory.spaces.end(),
                                  [&](const engine::Space& space) { return space.id == space_id; });
  return found == inventory.spaces.end() ? Bytes() : found->size;
}

std::string trouble_of(const NodeState& state, const std::string& hidden_pool) {
  if (!state.tidied) return "the disks have not been looked at yet";
  if (!*state.tidied) return state.tidied->error().message();
  if (!state.kubelet) return state.kubelet.error().message();
  return hidden_pool;
}

// Whatever is smaller than a volume that fits does, too.
Bytes largest_of(const Ledger& ledger, const std::string& pool, Backend backend,
                 const PoolRoom& empty) {
  return largest_that_fits(empty.free, empty.unit, [&](Bytes size) {
    const Promise wanted{.name = {}, .backend = backend, .pool = pool, .size = size};
    const auto room = ledger.last_room(wanted);
    return room && size_that_fits(wanted, *room);
  });
}

}  // namespace

NodeReport report_of(const NodeState& state, const engine::NodeConfig& config, const Ledger& ledger,
                     const NodeBudget& budget) {
  NodeReport report;
  report.budget = budget;
  std::string hidden;
  for (const auto& [name, pool] : config.pools) {
    if (ledger.last_seen() == nullptr) break;
    std::string why;
    for (const Backend backend : {Backend::kLvm, Backend::kThin, Backend::kQuota}) {
      const std::string id = engine::space_id(backend, name, pool);
      if (id.empty()) continue;
      // By a volume of no size: what is free beside all that is promised.
      const auto room =
          ledger.last_room({.name = {}, .backend = backend, .pool = name, .size = {}});
      if (room)
        report.pools[name][std::string(engine::to_string(backend))] = {
            .size = size_of(*ledger.last_seen(), id),
            .free = room->free,
            .largest = largest_of(ledger, name, backend, *room),
            .unit = engine::size_in(backend, pool, Bytes(1), room->unit)};
      else
        why = room.error().message();
    }
    report.given[name] = ledger.given(name, "", "");
    if (hidden.empty() && !report.pools.contains(name)) hidden = why;
  }
  report.trouble = trouble_of(state, hidden);
  return report;
}

}  // namespace flexlocal::provisioner
