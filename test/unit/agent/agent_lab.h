// An agent on a node whose disks are plain values and whose API server keeps its orders.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/agent/agent_role.h"
#include "provisioner/objects/paths.h"
#include "test/unit/agent/copy_server.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

// An API server without streaming lists; its watches bring nothing and never end.
struct AgentServer final : kube::Http {
  CopyServer copies;
  bool denied = false;  // the list is refused
  std::function<bool(const kube::HttpRequest&)> fails = [](const auto&) { return false; };
  std::string node;  // nothing: there is none
  kube::Condition never;
  std::vector<std::string> lists;

  explicit AgentServer(std::vector<std::string>& journal) : copies(journal) {}

  static std::string list_of(const std::string& object) {
    return concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", object, "]}");
  }

  kube::Task<Result<kube::HttpResponse>> send(const kube::HttpRequest& request) override {
    if (request.target.find("/api/v1/nodes") != std::string::npos)
      co_return kube::HttpResponse{
          .status = node.empty() ? 404 : 200, .body = list_of(node), .retry_after = {}};
    if (fails(request))
      co_return kube::HttpResponse{.status = 500, .body = "{}", .retry_after = {}};
    if (request.target.find(copies_path() + '?') != 0) co_return copies.answer(request);
    lists.push_back(request.target);
    if (denied) co_return kube::HttpResponse{.status = 403, .body = "{}", .retry_after = {}};
    co_return kube::HttpResponse{.status = 200, .body = copies.list(), .retry_after = {}};
  }
  kube::Task<Result<kube::HttpResponse>> stream(const kube::HttpRequest& request,
                                                kube::ByteSink& sink) override {
    if (!request.trickles) {
      auto response = co_await send(request);
      co_return kube::test::deliver(std::move(response), sink);
    }
    if (request.target.find("sendInitialEvents") != std::string::npos)
      co_return kube::HttpResponse{.status = 422, .body = "{}", .retry_after = {}};
    Status waited;
    while (waited) waited = co_await never.wait();
    co_return waited.error();
  }
};

struct AgentLab : kube::test::Lab {
  std::vector<std::string> journal;
  FakeStorage storage{journal};
  AgentServer server{journal};
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  engine::NodeConfig config;
  std::unique_ptr<AgentRole> role;
  std::chrono::seconds tidy_interval{60};
  std::optional<Status> beaten = Status();  // how the first beat for the Node ended
  bool ended = false;
  int news = 0;  // times that somebody waited for what is reported

  AgentLab() { config.pools["default"].volume_group = "vg"; }
  ~AgentLab() {
    stop();  // before the role goes: its tasks refer to it
  }

  static kube::Task<void> run(AgentRole& role, bool& ended) {
    co_await role.run();
    ended = true;
  }
  void start() {
    ended = false;
    AgentOptions options;
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    options.disks.tidy = tidy_interval;
    options.disks.unsettled =
        std::min<std::chrono::milliseconds>(tidy_interval, std::chrono::minutes(1));
    options.disks.changed = options.disks.gather = std::chrono::milliseconds(0);
    options.disks.limits = std::chrono::milliseconds(1);
    options.disks.resume = std::chrono::milliseconds(1);
    const AgentNode node{config, {kNodeIdentity, kCluster, kMuchMemory}, "host"};
    role = std::make_unique<AgentRole>(io, api, storage, node, clock, log, options);
    role->on_news([this] {
      ++news;
      role->report();  // as a beat does
    });
    tasks.spawn(run(*role, ended));
    if (beaten) role->heard(*beaten);
  }
  bool stop() {
    if (role && !ended) role->stop();
    storage.go.notify_all();
    return !role || run_until([this] { return ended; });
  }
  // A growth for which there is no room; the size that is ordered.
  Bytes order_too_much(const std::string& name) {
    CopyOrder grown = *server.copies.copy(name).order;
    grown.volume.size += storage.free() + Bytes(100 * kMiB.count());
    server.copies.order(grown);
    return grown.volume.size;
  }
  static std::string copy_id(int number) { return concat("0123456789abcde", number); }
  // A new order of a small volume.
  std::string give_one(int number) {
    const std::string uid = concat("0b1c2d3e-0000-4000-8000-0000000000", 10 + number);
    CopyOrder order = sample_order(sample_spec(uid, Bytes(300 * kMiB.count())));
    order.volume.copy = copy_id(number);
    server.copies.order(order);
    return copy_name(order);
  }
  // As many, for six of which there is room.
  std::vector<std::string> give(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(give_one(i));
    return names;
  }
  bool are(CopyState state, const std::vector<std::string>& names) const {
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return server.copies.copy(name).status.state == state;
    });
  }
  bool did(const std::string& call) const {
    return std::find(journal.begin(), journal.end(), call) != journal.end();
  }
  void start_with(const std::vector<std::string>& names) {
    start();
    REQUIRE(run_until([&] { return are(CopyState::kReady, names); }));
  }
  // How long it would have waited from one look at the disks to the next.
  std::chrono::nanoseconds between_looks() {
    role->report();  // as each beat does
    storage.changes.hurries = true;
    storage.changes.change();
    auto looks = whole_looks();
    REQUIRE(run_until([&] { return whole_looks() > looks; }));
    looks = whole_looks();
    storage.changes.waited = {};
    std::chrono::nanoseconds waited{};
    REQUIRE(run_until([&] {
      if (whole_looks() == looks) waited = storage.changes.waited;
      return whole_looks() > looks;
    }));
    return waited;
  }
  std::ptrdiff_t whole_looks() const {
    return std::count(journal.begin(), journal.end(), "settle");
  }
  std::string words() const {
    const Status ready = role->readiness();
    return ready ? "ready" : ready.error().message();
  }
};

}  // namespace flexlocal::provisioner::test
