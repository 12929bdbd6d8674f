#include "provisioner/objects/heartbeat_record.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kNamePrefix = "node-";
constexpr std::string_view kVersionKey = "flexlocal.io/version";
constexpr std::string_view kReadyKey = "flexlocal.io/ready";
constexpr std::string_view kReasonKey = "flexlocal.io/reason";
constexpr std::string_view kPoolsKey = "flexlocal.io/pools";
constexpr std::string_view kBudgetKey = "flexlocal.io/budget";

constexpr std::string_view kCopiesKey = "flexlocal.io/copies";
constexpr std::string_view kProvisioningKey = "flexlocal.io/provisioning";
constexpr std::string_view kDistributed = "distributed";

constexpr std::size_t kLongestReason = 500;
// All annotations of an object may have 256 KiB together.
constexpr std::size_t kLongestPools = 64U << 10U;

// Beyond what extents and stripes come to: such a node's word would make volumes of any size.
constexpr Bytes kLargestUnit(1ULL << 40U);

void write_bytes(JsonWriter& json, std::string_view key, Bytes size) {
  json.key(key).integer(static_cast<std::int64_t>(std::min(size, kMostBytes).count()));
}

std::string pools_text(const PoolReport& pools) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [pool, backends] : pools) {
    json.key(pool).begin_object();
    for (const auto& [backend, figures] : backends) {
      json.key(backend).begin_object();
      json.key("size").integer(static_cast<std::int64_t>(figures.size.count()));
      json.key("free").integer(static_cast<std::int64_t>(figures.free.count()));
      if (figures.largest) write_bytes(json, "largest", *figures.largest);
      if (figures.unit.count() != 0) write_bytes(json, "unit", figures.unit);
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
  return json.take();
}

// By the node's own ratio: what people look at. Whoever decides for a class that has another works
// it out from the rest.
std::string budget_text(const NodeReport& report) {
  const NodeBudget& budget = *report.budget;
  JsonWriter json;
  json.begin_object();
  if (budget.memory) write_bytes(json, "memory", *budget.memory);
  json.member("ramFraction", to_string(budget.ram_fraction));
  json.member("diskPerRam", to_string(budget.disk_per_ram));
  json.key("pools").begin_object();
  for (const auto& [pool, given] : report.given) {
    json.key(pool).begin_object();
    const auto limit = budget.limit({});
    if (limit) write_bytes(json, "budget", *limit);
    write_bytes(json, "used", given);
    if (limit) write_bytes(json, "free", *limit - given);
    json.end_object();
  }
  json.end_object().end_object();
  return json.take();
}

Bytes bytes_of(JsonView value) {
  const std::int64_t count = value.integer().value_or(0);
  return Bytes(count > 0 ? static_cast<std::uint64_t>(count) : 0);
}

PoolReport parse_pools(const std::string& text) {
  PoolReport pools;
  if (text.size() > kLongestPools) return pools;
  const auto document = JsonDocument::parse(text);
  if (!document) return pools;
  document->root().for_each_member([&](std::string_view pool, JsonView backends) {
    backends.for_each_member([&](std::string_view backend, JsonView figures) {
      PoolFigures& known = pools[std::string(pool)][std::string(backend)];
      known = {bytes_of(figures["size"]), bytes_of(figures["free"])};
      if (figures["largest"].exists()) known.largest = bytes_of(figures["largest"]);
      if (const Bytes unit = bytes_of(figures["unit"]); unit <= kLargestUnit) known.unit = unit;
    });
  });
  return pools;
}

void parse_budget(const std::string& text, NodeReport& report) {
  if (text.empty() || text.size() > kLongestPools) return;
  const auto document = JsonDocument::parse(text);
  if (!document) return;
  const JsonView root = document->root();
  const auto fraction = parse_ratio(root["ramFraction"].text());
  const auto ratio = parse_ratio(root["diskPerRam"].text());
  if (!fraction || !ratio || *fraction > Ratio::of_millionths(Ratio::kOne)) return;
  NodeBudget budget{std::nullopt, *fraction, *ratio};
  if (root["memory"].integer()) budget.memory = bytes_of(root["memory"]);
  report.budget = budget;
  root["pools"].for_each_member([&](std::string_view pool, JsonView figures) {
    report.given[std::string(pool)] = bytes_of(figures["used"]);
  });
}

std::string annotation(const kube::Lease& lease, std::string_view key) {
  const auto found = lease.annotations.find(std::string(key));
  return found == lease.annotations.end() ? std::string() : found->second;
}

}  // namespace

std::string heartbeat_name(std::string_view node) { return concat(kNamePrefix, node); }

std::optional<std::string> node_of_heartbeat(std::string_view lease_name) {
  if (!lease_name.starts_with(kNamePrefix) || lease_name.size() == kNamePrefix.size())
    return std::nullopt;
  return std::string(lease_name.substr(kNamePrefix.size()));
}

void write_heartbeat(const HeartbeatOwner& owner, const NodeReport& report, Clock::Wall now,
                     kube::Lease& lease) {
  if (lease.holder != owner.holder || !lease.acquired) lease.acquired = now;
  lease.holder = owner.holder;
  lease.duration = kHeartbeatDuration;
  lease.renewed = kube::next_renewal(lease, now);
  lease.owners = {{"v1", "Node", owner.node, owner.node_uid}};
  auto& annotations = lease.annotations;
  annotations[std::string(kVersionKey)] = version();
  annotations[std::string(kReadyKey)] = report.trouble.empty() ? "true" : "false";
  if (report.trouble.empty())
    annotations.erase(std::string(kReasonKey));
  else
    annotations[std::string(kReasonKey)] = printable(report.trouble, kLongestReason);
  std::string pools = pools_text(report.pools);
  if (pools.size() > kLongestPools) pools = "{}";
  annotations[std::string(kPoolsKey)] = std::move(pools);
  std::string budget = report.budget ? budget_text(report) : std::string();
  if (budget.empty() || budget.size() > kLongestPools)
    annotations.erase(std::string(kBudgetKey));
  else
    annotations[std::string(kBudgetKey)] = std::move(budget);
  if (report.roll)
    annotations[std::string(kCopiesKey)] = roll_text(*report.roll);
  else
    annotations.erase(std::string(kCopiesKey));
  if (report.orders_itself)
    annotations[std::string(kProvisioningKey)] = kDistributed;
  else
    annotations.erase(std::string(kProvisioningKey));
}

std::optional<NodeHeartbeat> decode_heartbeat(JsonView object) {
  const kube::Lease lease = kube::decode_lease(object);
  auto node = node_of_heartbeat(lease.name);
  if (!node) return std::nullopt;
  NodeHeartbeat beat;
  beat.node = std::move(*node);
  beat.resource_version = lease.resource_version;
  beat.renewed = lease.renewed;
  if (lease.duration.count() > 0) beat.duration = lease.duration;
  beat.version = printable(annotation(lease, kVersionKey), 64);
  if (annotation(lease, kReadyKey) != "true") {
    beat.report.trouble = printable(annotation(lease, kReasonKey), kLongestReason);
    if (beat.report.trouble.empty()) beat.report.trouble = "no reason given";
  }
  beat.report.pools = parse_pools(annotation(lease, kPoolsKey));
  parse_budget(annotation(lease, kBudgetKey), beat.report);
  if (auto roll = parse_roll(annotation(lease, kCopiesKey))) beat.report.roll = std::move(*roll);
  beat.report.orders_itself = annotation(lease, kProvisioningKey) == kDistributed;
  return beat;
}

}  // namespace flexlocal::provisioner
