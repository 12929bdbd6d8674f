#include "provisioner/daemon/budget_table.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kColumns = 7;
constexpr std::size_t kLongestTrouble = 100;
using Row = std::array<std::string, kColumns>;

// The two limits of one pool's volumes of one backend.
struct Limits {
  Bytes disk, disk_left;
  std::optional<Bytes> ram;
  Bytes given;

  Bytes ram_left() const { return *ram - given; }
  bool ends_with_ram() const { return ram && ram_left() < disk_left; }
};

Row row_of(const std::string& node, const std::string& pool, const std::string& backend,
           const Limits& limits) {
  const bool by_ram = limits.ends_with_ram();
  return {node,
          pool,
          backend,
          to_string(limits.ram ? std::min(*limits.ram, limits.disk) : limits.disk),
          to_string(limits.given),
          to_string(by_ram ? limits.ram_left() : limits.disk_left),
          by_ram ? "RAM" : "disk"};
}

std::string trouble_of(const NodeHeartbeat& beat, Clock::Wall now) {
  if (!beat.renewed || *beat.renewed + beat.duration < now) return "no sign of life";
  return beat.report.trouble.empty()
             ? std::string()
             : concat("not ready: ", printable(beat.report.trouble, kLongestTrouble));
}

void add_node(const NodeHeartbeat& beat, Clock::Wall now, std::vector<Row>& rows) {
  const std::string node = printable(beat.node, 253);
  if (const std::string trouble = trouble_of(beat, now); !trouble.empty()) {
    rows.push_back({node, "-", "-", "-", "-", "-", trouble});
    return;
  }
  const NodeReport& report = beat.report;
  const auto limit = report.budget ? report.budget->limit({}) : std::nullopt;
  for (const auto& [pool, backends] : report.pools) {
    const auto has = report.given.find(pool);
    for (const auto& [backend, figures] : backends)
      rows.push_back(row_of(
          node, printable(pool, 63), printable(backend, 20),
          {figures.size, figures.free, limit, has == report.given.end() ? Bytes() : has->second}));
  }
}

std::string text_of(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < kColumns; ++i)
      text += concat(row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    text += concat(row.back(), '\n');
  }
  return text;
}

}  // namespace

std::string budget_table(const std::vector<NodeHeartbeat>& beats, Clock::Wall now) {
  std::vector<const NodeHeartbeat*> order;
  order.reserve(beats.size());
  for (const NodeHeartbeat& beat : beats) order.push_back(&beat);
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->node < b->node; });
  std::vector<Row> rows = {{"NODE", "POOL", "BACKEND", "BUDGET", "USED", "FREE", "LIMIT"}};
  for (const NodeHeartbeat* const beat : order) add_node(*beat, now, rows);
  return text_of(rows);
}

}  // namespace flexlocal::provisioner
