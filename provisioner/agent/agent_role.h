// The agent: it carries out what the controller orders of this node's copies, and answers.
#pragma once

#include <functional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/agent/copy_worker.h"
#include "provisioner/agent/disk_keeper.h"
#include "provisioner/agent/kubelet_init.h"
#include "provisioner/agent/membership.h"
#include "provisioner/agent/node_memory.h"
#include "provisioner/kube/client_metrics.h"
#include "provisioner/work/reconcile_loop.h"

namespace flexlocal::provisioner {

// Workers beside the others: what is made, grown or removed takes its worker for seconds, or for as
// long as its disk hangs, and new orders are answered meanwhile.
inline constexpr unsigned kKeptForOrders = 1;

struct AgentOptions {
  // How many copies are made, grown or removed at once, new orders answered beside them. More help
  // only while LVM is waited for.
  unsigned workers = 4;
  // First and longest pause before a failed copy is tried again.
  kube::BackoffOptions retry{std::chrono::seconds(1), std::chrono::minutes(5)};
  // All copies are looked at again after each tidying.
  DiskIntervals disks{};
  // What volumes are in proportion to; the node's memory comes with its Membership.
  Ratio ram_fraction = NodeBudget().ram_fraction;
  Ratio disk_per_ram = NodeBudget().disk_per_ram;
  // Many nodes begin at once after an outage, and none reads the state from etcd: what cannot be
  // undone asks for the order anew before.
  // While it hears nothing its heartbeat may be heard again already, and an order that it does not
  // answer is withdrawn after kOrderTimeout: it looks again about as often.
  kube::ReflectorOptions reflect{
      .first = kube::FirstList::kFromCache,
      .backoff = {.base = std::chrono::milliseconds(800), .most = kHeartbeatInterval / 2},
      .most_resumes = 16,
      .most_from_cache = 72};
  // Whether this daemon gives its node's orders as well, which its Lease says.
  bool orders_itself = false;
  // Whether a promise that cannot be kept is given up: see CopyHand.
  bool gives_up = false;
};

// The node that it is the agent of.
struct AgentNode {
  const engine::NodeConfig& config;  // as its administrator wrote it
  Membership membership;             // as the cluster knows it
  std::string host_id;               // of this host, in all that it answers
};

class AgentRole {
 public:
  AgentRole(boost::asio::io_context& io, kube::ApiClient& api, Storage& storage,
            const AgentNode& node, const Clock& clock, Log& log, const AgentOptions& options);

  // Works until stop(), then finishes what is begun, and ends.
  Task<void> run();
  void stop();

  // For the heartbeat; and how a beat ended: until one went well, and while another host has the
  // Node's name, nothing is done.
  NodeReport report();
  void heard(const Status& beaten);
  // Called when report() tells what somebody waits for: more room, or disks that can be used after
  // all, or no more. It must not wait. To be set before run().
  void on_news(std::function<void()> handler) { on_news_ = std::move(handler); }
  // The list of orders is complete and the last look at the disks succeeded. Else kUnavailable, in
  // words, or what was wrong with the disks.
  Status readiness();
  // See CopyClient. To be set before run().
  void confirm_by(CopyClient::Confirm confirm) { worker_.confirm_by(std::move(confirm)); }
  // The orders of this node's copies, as they are followed while run() runs.
  kube::Informer<VolumeCopy>& copies() { return copies_; }
  // All metrics of the agent but client()'s; it must outlive `metrics`.
  void show_in(kube::Metrics& metrics, const std::string& host_counts);
  kube::ClientView client() const;

 private:
  Task<void> work(const std::string& name);
  bool is_removed(const std::string& name) const;
  void requeue_refused_growths();
  bool has_waiting_copy() const;
  void disks_changed();
  void room_changed();
  void report(const std::string& name, const Result<Pass>& pass);
  void enqueue(const std::string& name);
  void enqueue_all();
  CopyRoll call_roll(const engine::Inventory& seen);

  kube::ApiClient& api_;
  const engine::NodeConfig& config_;
  Log& log_;
  AgentOptions options_;
  AgentHost self_;
  std::optional<Error> held_;  // why nothing is done
  std::function<void()> on_news_;
  // At the last report, and since then.
  std::optional<bool> reported_usable_;
  bool room_freed_ = false;
  bool in_trouble_ = false;  // by the last report
  NodeBudget budget_;
  kube::Informer<VolumeCopy> copies_;
  ReconcileLoop loop_;
  Ledger ledger_;
  KubeletInit kubelet_init_;
  CopyWorker worker_;
  NodeMemory memory_;
  DiskKeeper disks_;
};

}  // namespace flexlocal::provisioner
