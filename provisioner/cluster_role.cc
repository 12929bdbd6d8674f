#include "provisioner/cluster_role.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kClaimKey = "claim:";
constexpr std::string_view kVolumeKey = "volume:";
// An API server that does not answer must not hold up the end.
constexpr auto kMostEventWriting = std::chrono::seconds(5);

kube::ResourceKind kind(std::string_view group_version, const std::string& resource,
                        const std::string& namespace_name = {},
                        const std::string& label_selector = {}) {
  return {
      resource, kube::object_path(group_version, resource, namespace_name, ""), label_selector, {}};
}

Task<void> cancel_after(kube::TaskGroup& group, std::chrono::seconds time) {
  const Status slept = co_await kube::sleep_for(time);
  if (slept) group.cancel();
}

}  // namespace

ClusterRole::ClusterRole(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock,
                         Log& log, const ClusterRoleOptions& options)
    : io_(io),
      clock_(clock),
      log_(log),
      options_(options),
      claims_(api, log, kind("v1", "persistentvolumeclaims"), decode_claim),
      volumes_(api, log, kind("v1", "persistentvolumes", {}, std::string(kNodeLabel)),
               decode_volume),
      classes_(api, log, kind("storage.k8s.io/v1", "storageclasses"), decode_storage_class),
      nodes_(api, log, kind("v1", "nodes"), decode_node),
      beats_(api, log, kind("coordination.k8s.io/v1", "leases", options.namespace_name),
             decode_heartbeat),
      events_(api, clock, log, {std::string(engine::kProvisioner), {}}),
      queue_(clock, options.retry),
      parts_{api,    events_,       claims_, volumes_, classes_, nodes_,
             beats_, observations_, clock,   log,      options},
      claim_worker_(parts_),
      volume_worker_(parts_),
      grants_(parts_) {
  watch_changes();
}

void ClusterRole::watch_changes() {
  claims_.on_change([this](const std::string& key) { queue_.add(concat(kClaimKey, key)); });
  nodes_.on_change([this](const std::string& name) {
    const Node* node = nodes_.get(name);
    observations_.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                           clock_.now());
  });
  beats_.on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (node) observations_.saw_lease(*node, beats_.get(key), clock_.now());
  });
}

Task<void> ClusterRole::run() {
  kube::TaskGroup watchers(io_);
  kube::TaskGroup workers(io_);
  kube::TaskGroup writer(io_);
  watchers.spawn(claims_.run());
  watchers.spawn(volumes_.run());
  watchers.spawn(classes_.run());
  watchers.spawn(nodes_.run());
  watchers.spawn(beats_.run());
  writer.spawn(events_.run());
  for (unsigned i = 0; i < options_.workers; ++i) workers.spawn(work_loop());
  watchers.spawn(scan_loop());
  watchers.spawn(grant_loop());
  while (!stopped_) {
    const Status woken = co_await stopping_.wait();
    if (!woken) break;
  }
  const bool lost = co_await kube::is_cancelled();
  stopped_ = true;
  queue_.shut_down();
  if (lost) {
    workers.cancel();
    writer.cancel();
  }
  // From here on this task cannot be told to stop again: it waits for what it has started.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await finish(watchers, workers, writer);
}

Task<void> ClusterRole::finish(kube::TaskGroup& watchers, kube::TaskGroup& workers,
                               kube::TaskGroup& writer) {
  watchers.cancel();
  kube::TaskGroup patience(io_);
  patience.spawn(cancel_after(writer, kMostEventWriting));
  patience.spawn(cancel_after(workers, kMostEventWriting));
  const Status watchers_ended = co_await watchers.join();
  const Status workers_ended = co_await workers.join();
  events_.shut_down();
  const Status writer_ended = co_await writer.join();
  patience.cancel();
  const Status patience_ended = co_await patience.join();
  if (!watchers_ended || !workers_ended || !writer_ended || !patience_ended)
    log_.warning("stopped before everything had ended");
}

Task<void> ClusterRole::work_loop() {
  for (;;) {
    const auto key = co_await queue_.get();
    if (!key) co_return;
    if (stopped_) {  // what still waits is the next leader's, whose lists are fresh
      queue_.done(*key);
      co_return;
    }
    const Status status = co_await work_on(*key);
    report(*key, status);
    queue_.done(*key);
  }
}

// Before the lists are complete, "there is no such node" is not known; scan() comes after them.
Task<Status> ClusterRole::work_on(const std::string& key) {
  if (!has_synced()) co_return Status();
  Status status;
  if (key.starts_with(kClaimKey)) {
    const std::string claim = key.substr(kClaimKey.size());
    status = co_await claim_worker_.work(claim);
  } else {
    const std::string volume = key.substr(kVolumeKey.size());
    status = co_await volume_worker_.work(volume);
  }
  co_return status;
}

bool ClusterRole::has_synced() const {
  return claims_.has_synced() && volumes_.has_synced() && classes_.has_synced() &&
         nodes_.has_synced() && beats_.has_synced();
}

void ClusterRole::report(const std::string& key, const Status& status) {
  if (status) return queue_.forget(key);
  const ErrorCode code = status.error().code();
  // Somebody was faster, and the watch brings what they wrote; or we lead no longer.
  const bool quiet = code == ErrorCode::kConflict || code == ErrorCode::kCancelled;
  log_.write(quiet ? LogLevel::kDebug : LogLevel::kWarning, "will be tried again",
             {{"object", key}, {"code", to_string(code)}, {"error", status.error().message()}});
  queue_.add_rate_limited(key);
}

Task<void> ClusterRole::scan_loop() {
  // Soon after the lists are complete, then now and then.
  for (;;) {
    const bool synced = has_synced();
    if (synced) scan();
    const auto pause = synced ? options_.scan_interval : std::chrono::milliseconds(100);
    const Status slept = co_await kube::sleep_for(pause);
    if (!slept) co_return;
  }
}

// What time alone changes: claims that wait, and volumes whose node is not there.
void ClusterRole::scan() {
  const auto add = [this](const std::string& key) {
    // One that failed comes by its own back-off.
    if (queue_.failures(key) == 0) queue_.add(key);
  };
  claims_.for_each([&](const std::string& key, const Claim& claim) {
    if (claim.volume_name.empty()) add(concat(kClaimKey, key));
  });
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    if (nodes_.get(volume.node) == nullptr) add(concat(kVolumeKey, name));
  });
}

Task<void> ClusterRole::grant_loop() {
  std::string told;
  Status waited = co_await volumes_.wait_synced();
  while (waited) {
    const Status looked = co_await grants_.look();
    const bool quiet = looked.ok() || looked.error().code() == ErrorCode::kConflict ||
                       looked.error().code() == ErrorCode::kCancelled;
    const std::string trouble = quiet ? std::string() : looked.error().message();
    if (!trouble.empty() && trouble != told) log_.warning("grant key", {{"trouble", trouble}});
    told = trouble;
    waited = co_await kube::sleep_for(options_.scan_interval);
  }
}

}  // namespace flexlocal::provisioner
