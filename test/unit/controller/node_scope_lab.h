// A controller that gives the orders of one node, beside others that do so for theirs.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "provisioner/controller/cluster_role.h"
#include "test/unit/controller/listing_server.h"
#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {

inline std::string lease_path_of(const std::string& node) { return heartbeat_path("beats", node); }

// As an agent tells it.
inline ToldCopy told_copy(const std::string& uid, const std::string& copy = kCopy) {
  engine::VolumeSpec volume = sample_spec(uid);
  volume.cluster_id.clear();
  volume.copy = copy;
  return {.volume = volume, .claim_uid = uid, .claim_name = "data", .ready = true};
}

// Two nodes with room, whose daemons beat, and a claim that was sent to the first.
struct NodeScopeLab : kube::test::Lab {
  ListingServer server;
  ObjectServer& objects = server.objects;
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  kube::Informer<VolumeCopy> copies{
      api,
      log,
      {"volumecopies", copies_path(), concat(kNodeLabel, '=', kNode), {}, {}},
      decode_copy};
  ClusterWork work;
  bool put_back = false;
  ClusterRoleOptions options;
  std::unique_ptr<ClusterRole> role;
  kube::TaskGroup tasks{io};
  std::map<std::string, std::vector<ToldCopy>> beside;  // by node
  std::map<std::string, std::int64_t> follows;          // by node: the highest term
  kube::test::ManualClock manual;                       // whose time a test may let pass
  int renewed = 1;

  NodeScopeLab() {
    options.namespace_name = "ns";
    options.lease_namespace = "beats";
    options.scope = Scope::kOneNode;
    options.own_node = kNode;
    options.immediate = ImmediateBinding::kOff;
    options.scan_interval = std::chrono::milliseconds(1);
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    objects.put(kSystemPath, kSystem);
    objects.put("/apis/storage.k8s.io/v1/storageclasses/local", class_text());
    know_node(kNode);
    know_node(kOtherNode);
    objects.put(kClaimPath, claim_text(sample_claim()));
  }
  ~NodeScopeLab() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  void know_node(const std::string& node) {
    objects.put(node_path(node), ready_node(node));
    beat(node);
    server.beats[node] = [this, node] { return beat(node); };
  }
  std::string beat(const std::string& node) {
    std::vector<std::string> sees;
    for (const std::string& path : objects.paths(copies_path()))
      if (const auto copy = decode_copy(parsed(objects.text(path)).root()); copy->agent == node)
        sees.push_back(copy->name);
    return objects.put(lease_path_of(node), beat_of(node, ++renewed, kTenGiB, follows[node],
                                                    std::move(sees), beside[node]));
  }
  void know_copy(const CopyOrder& order) {
    objects.put(copy_path(copy_name(order)), copy_json(order));
  }
  void send_claim_to(const std::string& node) {
    Claim claim = sample_claim();
    claim.selected_node = node;
    objects.put(kClaimPath, claim_text(claim));
  }
  void start() { start(clock); }
  void start(const Clock& time) {
    const bool of_one = options.scope == Scope::kOneNode;
    role = std::make_unique<ClusterRole>(io, api, time, log, options, work, put_back,
                                         of_one ? &copies : nullptr);
    if (of_one) tasks.spawn(copies.run());
    tasks.spawn(role->run());
  }
  bool has_begun() {
    return run_until([this] { return log.has("orders are given"); });
  }
  bool has_ordered() const { return objects.count("POST volumecopies") > 0; }
  // The order that was given.
  CopyOrder given() {
    REQUIRE(run_until([this] { return has_ordered(); }));
    for (const std::string& path : objects.paths(copies_path()))
      if (auto copy = decode_copy(parsed(objects.text(path)).root()); copy->agent == kNode)
        return *copy->order;
    FAIL("there is no order for this node");
    return sample_order();
  }
  // Whether all nodes' Leases were asked for.
  bool has_called_roll() const {
    return std::ranges::any_of(server.asked, [](const std::string& target) {
      return target.find("/leases?") != std::string::npos &&
             target.find("fieldSelector") == std::string::npos;
    });
  }
  bool event_says(const std::string& text) {
    return run_until([&] { return log.has(text) || said(text); });
  }
  bool said(const std::string& text) const {
    return std::ranges::any_of(objects.events, [&](const std::string& event) {
      return event.find(text) != std::string::npos;
    });
  }
};

}  // namespace flexlocal::provisioner::test
