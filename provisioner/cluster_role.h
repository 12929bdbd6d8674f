// The cluster role: what one daemon does for all nodes. One term of its leader.
#pragma once

#include "provisioner/cluster_parts.h"
#include "provisioner/grant_keeper.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/kube/work_queue.h"
#include "provisioner/lost_volume_worker.h"
#include "provisioner/pending_claim_worker.h"

namespace flexlocal::provisioner {

class ClusterRole {
 public:
  // `api` is the leader's: its requests fail once leading has ended. `clock` goes on while the
  // machine sleeps.
  ClusterRole(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock, Log& log,
              const ClusterRoleOptions& options);

  // Works until stop(), then finishes what is begun, writes what events wait, and ends. Told to
  // stop by its task, it drops everything and ends as well.
  Task<void> run();
  void stop() {
    stopped_ = true;
    stopping_.notify_all();
  }

 private:
  Task<void> work_loop();
  Task<Status> work_on(const std::string& key);
  Task<void> scan_loop();
  Task<void> grant_loop();
  Task<void> finish(kube::TaskGroup& watchers, kube::TaskGroup& workers, kube::TaskGroup& writer);
  bool has_synced() const;
  void watch_changes();
  void scan();
  void report(const std::string& key, const Status& status);

  boost::asio::io_context& io_;
  const Clock& clock_;
  Log& log_;
  ClusterRoleOptions options_;
  kube::Informer<Claim> claims_;
  kube::Informer<Volume> volumes_;
  kube::Informer<StorageClass> classes_;
  kube::Informer<Node> nodes_;
  kube::Informer<NodeHeartbeat> beats_;
  kube::EventRecorder events_;
  kube::WorkQueue queue_;
  NodeObservations observations_;
  ClusterParts parts_;
  PendingClaimWorker claim_worker_;
  LostVolumeWorker volume_worker_;
  GrantKeeper grants_;
  kube::Condition stopping_;
  bool stopped_ = false;
};

}  // namespace flexlocal::provisioner
