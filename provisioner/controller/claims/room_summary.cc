#include "provisioner/controller/claims/room_summary.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

const PoolFigures* figures_of(const NodeHeartbeat& beat, const Promise& wanted) {
  const auto pool = beat.report.pools.find(wanted.pool);
  if (pool == beat.report.pools.end()) return nullptr;
  const auto backend = pool->second.find(std::string(engine::to_string(wanted.backend)));
  return backend == pool->second.end() ? nullptr : &backend->second;
}

// Of one volume: a layout takes more than the volume has, and needs it on different disks.
Bytes largest_of(const PoolFigures& figures) { return figures.largest.value_or(figures.free); }

Bytes whole_units(Bytes size, Bytes unit) {
  return unit.count() == 0 ? size : Bytes(size.count() - size.count() % unit.count());
}

Bytes given_of(const NodeReport& report, const WantedVolume& wanted) {
  const auto given = report.given.find(wanted.promise.pool);
  return given == report.given.end() ? Bytes() : given->second;
}

// A daemon that says nothing of a budget has none.
bool exceeds_budget(const NodeReport& report, const WantedVolume& wanted) {
  if (!report.budget) return false;
  const Allowance allowance{*report.budget, wanted.of_class, given_of(report, wanted)};
  return !check_budget(allowance, wanted.promise.pool, wanted.promise.size);
}

// `node.beat` is there where the reason is one of its daemon's.
std::string in_full(NoRoom reason, const NodeView& node, const WantedVolume& volume,
                    Bytes uncounted) {
  const Promise& wanted = volume.promise;
  switch (reason) {
    case NoRoom::kDaemonNotReady:
      return concat(to_words(reason), ": ", node.beat->report.trouble);
    case NoRoom::kPoolFull: {
      const PoolFigures& figures = *figures_of(*node.beat, wanted);
      const Bytes free = figures.free - uncounted;
      std::string text = concat("pool \"", wanted.pool, "\" has ", to_string(free),
                                " free for backend ", engine::to_string(wanted.backend), ", ",
                                to_string(size_on(node, wanted)), " asked");
      if (wanted.size <= free)
        text += concat(", and one volume can have ", to_string(largest_of(figures) - uncounted));
      return text;
    }
    case NoRoom::kBudget: {
      const NodeReport& report = node.beat->report;
      const Allowance allowance{*report.budget, volume.of_class,
                                given_of(report, volume) + uncounted};
      return check_budget(allowance, wanted.pool, size_on(node, wanted)).error().message();
    }
    case NoRoom::kNoPool:
      return concat("its node.conf has no pool \"", wanted.pool, "\" for backend ",
                    engine::to_string(wanted.backend), ", or LVM does not show it");
    case NoRoom::kNodeUnready:
    case NoRoom::kNoDaemon:
    case NoRoom::kOrdersItself:
    case NoRoom::kNoOrders:
    case NoRoom::kCordoned:
      break;
  }
  return std::string(to_words(reason));
}

}  // namespace

std::string_view to_words(NoRoom reason) {
  switch (reason) {
    case NoRoom::kNodeUnready:
      return "node not ready";
    case NoRoom::kNoDaemon:
      return "no node daemon";
    case NoRoom::kDaemonNotReady:
      return "node daemon not ready";
    case NoRoom::kOrdersItself:
      return "gives its own orders (--provisioning=distributed)";
    case NoRoom::kNoOrders:
      return "node daemon of an earlier version";
    case NoRoom::kNoPool:
      return "no such pool";
    case NoRoom::kPoolFull:
      return "pool full";
    case NoRoom::kBudget:
      return "RAM budget";
    case NoRoom::kCordoned:
      return "cordoned";
  }
  return "unknown";
}

std::optional<NoRoom> no_room_on(const NodeView& node, const WantedVolume& volume) {
  const Promise& wanted = volume.promise;
  if (!node.node.ready) return NoRoom::kNodeUnready;
  if (node.beat == nullptr || !node.health.daemon_runs()) return NoRoom::kNoDaemon;
  if (!node.beat->report.trouble.empty()) return NoRoom::kDaemonNotReady;
  const PoolFigures* figures = figures_of(*node.beat, wanted);
  if (figures == nullptr) return NoRoom::kNoPool;
  if (largest_of(*figures) < wanted.size) return NoRoom::kPoolFull;
  WantedVolume rounded = volume;
  rounded.promise.size = size_on(node, wanted);
  if (exceeds_budget(node.beat->report, rounded)) return NoRoom::kBudget;
  if (node.barred) return node.barred;
  if (node.node.cordoned) return NoRoom::kCordoned;
  return std::nullopt;
}

std::optional<std::string> shortage_on(const NodeView& node, const WantedVolume& wanted,
                                       Bytes uncounted) {
  WantedVolume with_those = wanted;
  with_those.promise.size += uncounted;
  const auto reason = no_room_on(node, with_those);
  if (!reason || *reason == NoRoom::kCordoned) return std::nullopt;
  return in_full(*reason, node, wanted, uncounted);
}

Bytes largest_on(const NodeView& node, const WantedVolume& wanted) {
  if (no_room_on(node, wanted).value_or(NoRoom::kCordoned) != NoRoom::kCordoned) return {};
  const PoolFigures* const figures = figures_of(*node.beat, wanted.promise);
  return whole_units(std::min(largest_of(*figures), free_on(node, wanted)), figures->unit);
}

Bytes size_on(const NodeView& node, const Promise& wanted) {
  const PoolFigures* const figures =
      node.beat == nullptr ? nullptr : figures_of(*node.beat, wanted);
  if (figures == nullptr || figures->unit.count() == 0) return wanted.size;
  // What no quantity holds is refused by the node as it was asked for.
  const Bytes rounded = wanted.size.rounded_up_to(figures->unit);
  return rounded <= kMostBytes ? rounded : wanted.size;
}

Bytes free_on(const NodeView& node, const WantedVolume& wanted) {
  if (node.beat == nullptr) return {};
  const PoolFigures* const figures = figures_of(*node.beat, wanted.promise);
  if (figures == nullptr) return {};
  const NodeReport& report = node.beat->report;
  if (!report.budget) return figures->free;
  return std::min(figures->free, report.budget->left(wanted.of_class, given_of(report, wanted)));
}

std::optional<std::string> no_room_anywhere(const std::vector<NodeView>& nodes,
                                            const WantedVolume& volume) {
  const Promise& wanted = volume.promise;
  std::map<NoRoom, std::size_t> counts;
  for (const NodeView& node : nodes) {
    const auto reason = no_room_on(node, volume);
    if (!reason) return std::nullopt;
    ++counts[*reason];
  }
  std::vector<std::pair<NoRoom, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> pieces;
  pieces.reserve(order.size());
  for (const auto& [reason, count] : order) pieces.push_back(concat(count, ' ', to_words(reason)));
  std::string text =
      concat("0 of ", nodes.size(), " nodes have ", format_quantity(wanted.size), " in pool \"",
             wanted.pool, "\" for backend ", engine::to_string(wanted.backend));
  if (!pieces.empty()) text += concat(": ", join(pieces, ", "));
  return text;
}

}  // namespace flexlocal::provisioner
