// Node daemons without disks, for the bench of the Kubernetes half: the real node role with the
// real client, on a pool that is a number. Each has connections, lists and watches of its own.
//
//   node-simulator NODE[,NODE...] KUBECONFIG POOL_BYTES [NAMESPACE [off|rank]]
//
// With a namespace each gives its sign of life there, a Lease, and tells the scheduler of its room;
// `rank`: it takes its share of Immediate claims, too.
//
// Prints "synced" and the ms since its start once all first lists are complete, works until
// SIGTERM, and then prints one line of JSON: its CPU time in ms until it had synced and after that,
// and its peak resident memory in KiB. Exit status: 0, or 1 when it could not begin.

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "provisioner/agent/heartbeat.h"
#include "provisioner/agent/node_role.h"
#include "provisioner/kube/curl_http.h"

namespace flexlocal::provisioner {
namespace {

namespace asio = boost::asio;

// What is made is counted by the ledger from the PersistentVolumes alone, as on a node whose
// volumes nobody has mounted yet.
class NoDisks final : public Storage {
 public:
  explicit NoDisks(Bytes size) {
    present_.spaces.push_back({"group:sim", size, size, Bytes(4 * kMiB.count()), {}});
  }
  Task<Result<engine::Inventory>> inventory() override { co_return present_; }
  Task<Status> promise(const engine::VolumeSpec&) override { co_return Status(); }
  Task<Status> record_claim(const engine::VolumeSpec&, const std::string&) override {
    co_return Status();
  }
  Task<Status> withdraw(const engine::PromisedVolume&) override { co_return Status(); }
  // What is grown has not been made: only its promise grows.
  Task<Status> grow(const engine::VolumeSpec&, Bytes) override {
    co_return Error(ErrorCode::kNotFound, "not made yet");
  }
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override {
    present_.records.erase(spec.name.text());
    const auto is_it = [&](const auto& volume) { return volume.name == spec.name.text(); };
    std::erase_if(present_.volumes, is_it);
    std::erase_if(present_.holdings, [&](const auto& holding) {
      if (holding.volume != spec.name.text()) return false;
      present_.spaces.front().free += holding.size;
      return true;
    });
    co_return engine::Removal{};
  }
  Task<Status> set_retained(const engine::VolumeSpec&, engine::Retained) override {
    co_return Status();
  }
  // Copies are made as they are promised, at once.
  Task<Result<engine::Record>> promise_copy(const engine::OrderedCopy& ordered) override {
    engine::Record record = engine::promised_record(ordered.spec, ordered.claim_uid);
    record.order = ordered.order;
    present_.records.insert_or_assign(ordered.spec.name.text(), record);
    co_return record;
  }
  Task<Result<engine::Record>> follow(const engine::OrderedCopy& ordered) override {
    const auto found = present_.records.find(ordered.spec.name.text());
    if (found == present_.records.end()) co_return engine::unpromised(ordered.spec.name);
    found->second.claim_uid = ordered.claim_uid;
    found->second.order = ordered.order;
    co_return found->second;
  }
  Task<Result<engine::Record>> refuse(const engine::VolumeSpec& spec) override {
    co_return engine::unpromised(spec.name);
  }
  Task<Status> withdraw_copy(const engine::VolumeSpec& spec) override {
    present_.records.erase(spec.name.text());
    co_return Status();
  }
  Task<Status> make(const engine::VolumeCall& call) override {
    const auto found = present_.records.find(call.name.text());
    if (found == present_.records.end()) co_return engine::unpromised(call.name);
    found->second.state = engine::RecordState::kReady;
    add(found->second.spec);
    co_return Status();
  }
  Task<Status> settle(const engine::Inventory&) override { co_return Status(); }
  Task<Status> resume_suspended() override { co_return Status(); }
  Task<Status> refresh_io_limits() override { co_return Status(); }
  // There is no kubelet either: as if it had called the plugin of this version.
  Result<engine::InitMark> init_mark() const override { return engine::InitMark(version()); }

 private:
  void add(const engine::VolumeSpec& spec) {
    engine::LogicalVolume volume;
    volume.group = "sim";
    volume.name = spec.name.text();
    volume.size = spec.size;
    volume.ownership = engine::Ownership{.copy = spec.copy,
                                         .cluster_id = spec.cluster_id,
                                         .claim_uid = spec.name.claim_uid(),
                                         .claim_namespace = spec.claim_namespace,
                                         .pool = spec.pool,
                                         .size = spec.size,
                                         .ready = true,
                                         .attempt = {}};
    present_.volumes.push_back(std::move(volume));
    present_.holdings.push_back({spec.name.text(), "group:sim", spec.size});
    present_.spaces.front().free = present_.spaces.front().free - spec.size;
  }

  engine::Inventory present_;
};

engine::NodeConfig one_pool() {
  engine::NodeConfig config;
  config.pools["default"].volume_group = "sim";
  return config;
}

struct Arguments {
  std::vector<std::string> nodes;
  std::string kubeconfig;
  Bytes pool;
  std::string name_space;  // empty: neither sign of life nor what there is room for
  ImmediateBinding immediate = ImmediateBinding::kOff;
};

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

struct Usage {
  double cpu_ms;
  long rss_kib;
};

Usage usage() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return {milliseconds(used.ru_utime) + milliseconds(used.ru_stime), used.ru_maxrss};
}

// One node's daemon. It must outlive its task.
class SimulatedNode {
 public:
  SimulatedNode(const Arguments& arguments, std::string name, const Clock& clock, Log& log)
      : arguments_(arguments),
        name_(std::move(name)),
        clock_(clock),
        log_(log),
        storage_(arguments.pool),
        config_(one_pool()) {}

  Task<Status> serve(asio::io_context& io, kube::Http& http) {
    // The daemon's own limit would be what is measured.
    kube::ApiClient api(http, clock_, {.limit = {0, 1}});
    auto membership = co_await load_membership(api, name_);
    if (!membership) co_return membership.error();
    NodeRole role(io, api, storage_, config_, clock_, log_, *membership, role_options());
    role_ = &role;
    kube::TaskGroup beats(io);
    Heartbeat heartbeat(
        api, clock_, log_,
        {.namespace_name = arguments_.name_space, .owner = {name_, membership->node.uid, name_}},
        [&role] { return role.report(); });
    if (!arguments_.name_space.empty()) beats.spawn(heartbeat.run());
    co_await role.run();
    role_ = nullptr;
    beats.cancel();
    co_return co_await beats.join();
  }

  void stop() {
    if (role_ != nullptr) role_->stop();
  }
  bool has_synced() const { return role_ != nullptr && role_->has_synced(); }

 private:
  NodeRoleOptions role_options() const {
    NodeRoleOptions options;
    options.capacity.enabled = !arguments_.name_space.empty();
    options.capacity.namespace_name = arguments_.name_space;
    options.capacity.daemon_set = "none";
    options.immediate = arguments_.immediate;
    return options;
  }

  const Arguments& arguments_;
  std::string name_;
  const Clock& clock_;
  Log& log_;
  NoDisks storage_;
  engine::NodeConfig config_;
  NodeRole* role_ = nullptr;
};

class Simulator {
 public:
  Simulator(const Arguments& arguments, Log& log) : arguments_(arguments), log_(log) {}

  Status run() {
    const auto cluster = kube::load_kubeconfig(arguments_.kubeconfig, "");
    if (!cluster) return cluster.error();
    for (const std::string& name : arguments_.nodes) {
      auto http = kube::CurlHttp::make(io_, clock_, log_, *cluster);
      if (!http) return http.error();
      https_.push_back(std::move(*http));
      nodes_.push_back(std::make_unique<SimulatedNode>(arguments_, name, clock_, log_));
    }
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) stop();
    });
    kube::TaskGroup tasks(io_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) tasks.spawn(serve(i));
    announcement_.spawn(announce());
    io_.run();
    return result_;
  }

  double start_cpu_ms() const { return start_cpu_ms_; }

 private:
  Task<void> serve(std::size_t index) {
    const Status served = co_await nodes_[index]->serve(io_, *https_[index]);
    if (!served) {
      result_ = served;
      stop();
    }
    if (++ended_ == nodes_.size()) signals_.cancel();
  }

  void stop() {
    announcement_.cancel();
    for (const auto& node : nodes_) node->stop();
  }

  Task<void> announce() {
    const auto start = std::chrono::steady_clock::now();
    while (!std::all_of(nodes_.begin(), nodes_.end(),
                        [](const auto& node) { return node->has_synced(); })) {
      auto slept = co_await kube::sleep_for(std::chrono::milliseconds(5));
      if (!slept) co_return;
    }
    const auto since = std::chrono::steady_clock::now() - start;
    start_cpu_ms_ = usage().cpu_ms;
    std::cout << "synced " << std::chrono::duration_cast<std::chrono::milliseconds>(since).count()
              << std::endl;
  }

  const Arguments& arguments_;
  Log& log_;
  asio::io_context io_{1};
  asio::signal_set signals_{io_, SIGTERM};
  SystemClock clock_;
  std::vector<std::unique_ptr<kube::CurlHttp>> https_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  kube::TaskGroup announcement_{io_};
  std::size_t ended_ = 0;
  Status result_;
  double start_cpu_ms_ = 0;
};

int run(const Arguments& arguments) {
  StderrLog log(LogLevel::kWarning);
  Simulator simulator(arguments, log);
  const Status done = simulator.run();
  if (!done) {
    std::cerr << "node-simulator: " << done.error().message() << '\n';
    return 1;
  }
  const Usage used = usage();
  std::cout << "{\"start_cpu_ms\":" << simulator.start_cpu_ms()
            << ",\"work_cpu_ms\":" << used.cpu_ms - simulator.start_cpu_ms()
            << ",\"rss_kib\":" << used.rss_kib << "}\n";
  return 0;
}

}  // namespace
}  // namespace flexlocal::provisioner

int main(int argc, char** argv) {
  using flexlocal::provisioner::ImmediateBinding;
  unsigned long long bytes = 0;
  const std::string immediate = argc > 5 ? argv[5] : "off";
  if (argc < 4 || argc > 6 || (immediate != "off" && immediate != "rank") ||
      !flexlocal::parse_number(argv[3], flexlocal::kMostBytes.count(), bytes)) {
    std::cerr << "usage: node-simulator NODE[,NODE...] KUBECONFIG POOL_BYTES "
                 "[NAMESPACE [off|rank]]\n";
    return 1;
  }
  const auto nodes = flexlocal::split(argv[1], ',');
  return flexlocal::provisioner::run(
      {{nodes.begin(), nodes.end()},
       argv[2],
       flexlocal::Bytes(bytes),
       argc > 4 ? argv[4] : "",
       immediate == "rank" ? ImmediateBinding::kRank : ImmediateBinding::kOff});
}
