#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

std::string uid_of_node(const std::string& name) { return name == kNode ? kUidOfNode : kOtherUid; }

}  // namespace

std::string ready_node(const std::string& name) {
  return concat(R"({"metadata":{"name":")", name, R"(","uid":")", uid_of_node(name),
                R"(","resourceVersion":")", ClusterLab::next_version(),
                R"(","labels":{"kubernetes.io/hostname":"host-of-)", name,
                R"("}},"status":{"conditions":[{"type":"Ready","status":"True"}]}})");
}

std::string beat_of(const std::string& node, int renewed, Bytes free, std::int64_t term,
                    std::vector<std::string> sees, std::vector<ToldCopy> told, Bytes unit,
                    std::vector<std::string> counted) {
  kube::Lease lease;
  lease.namespace_name = "beats";
  lease.name = heartbeat_name(node);
  NodeReport report;
  report.pools["default"]["lvm"] = {.size = kTenGiB, .free = free, .unit = unit};
  report.roll = CopyRoll{.host = std::string(32, 'a'),
                         .term = term,
                         .orders = digest_of(std::move(sees)),
                         .told = std::move(told),
                         .counted = std::move(counted)};
  write_heartbeat({node, uid_of_node(node), "host"}, report,
                  Clock::Wall(std::chrono::seconds(renewed)), lease);
  lease.resource_version = ClusterLab::next_version();
  return encode_lease(lease);
}

OrderLab::OrderLab() {
  http.answer = [this](const kube::HttpRequest& request) { return server.answer(request); };
  desk.set_cluster_id(kCluster);
  desk.begin_term(kTerm);
  beats.on_change([this](const std::string& key) {
    if (const NodeHeartbeat* const known = beats.get(key)) roll.heard(*known);
  });
  put(classes, class_text());
  know_node(kNode);
  roll.begin(kTerm);
  pass(std::chrono::seconds(1));
  REQUIRE(roll.is_over());
  log.lines.clear();
}

void OrderLab::know_node(const std::string& name, Bytes free) {
  put(nodes, server.put(node_path(name), ready_node(name)));
  free_[name] = free;
  beat(name);
}

void OrderLab::beat(const std::string& node, std::int64_t term) {
  std::vector<std::string> sees;
  for (const std::string& path : server.paths(copies_path()))
    if (const auto known = decode_copy(parsed(server.text(path)).root()); known->agent == node)
      sees.push_back(known->name);
  put(beats,
      beat_of(node, ++second_, free_.at(node), term, std::move(sees), beside[node], unit, counted));
}

void OrderLab::know_claim(const Claim& claim) {
  put(claims, server.put(claim_path(claim), claim_text(claim)));
}

void OrderLab::know_copy(const CopyOrder& order) {
  const std::string made =
      R"({"metadata":{"uid":"00000000-0000-4000-8000-0000000000ff","generation":1}})";
  put(copies, server.put(copy_path(copy_name(order)), merged(copy_json(order), made)));
}

void OrderLab::pass(std::chrono::seconds time) {
  manual.advance(time);
  for (const auto& [node, free] : free_) beat(node);
}

VolumeCopy OrderLab::copy() const {
  const auto paths = server.paths(copies_path());
  REQUIRE(paths.size() == 1);
  return *decode_copy(parsed(server.text(paths.front())).root());
}

void OrderLab::answer(CopyState state, const std::string& why) {
  const VolumeCopy known = copy();
  CopyStatus status = known.status;
  status.state = state;
  if (!why.empty()) status.conditions = {{std::string(kAsOrdered), false, "Refused", why, {}}};
  answer(known, status);
}

void OrderLab::answer(const VolumeCopy& known, CopyStatus status) {
  status.observed_generation = known.generation;
  put(copies, server.patch(copy_path(known.name), status_patch(known, status)));
}

Claim OrderLab::claim_there() const {
  return *decode_open_claim(parsed(server.text(kClaimPath)).root());
}

bool OrderLab::counts(const std::string& line) const {
  kube::Metrics metrics;
  work.volumes.show_in(metrics);
  return metrics.text().find(concat('\n', line, '\n')) != std::string::npos;
}

const std::string& OrderLab::events_text() {
  if (!events_) events_ = events_written();
  return *events_;
}

}  // namespace flexlocal::provisioner::test
