#include "provisioner/controller/cluster_role.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kClaimKey = "claim:";
constexpr std::string_view kVolumeKey = "volume:";
constexpr std::string_view kNodeKey = "node:";
// An API server that does not answer must not hold up the next leader.
constexpr auto kMostFinishing = std::chrono::seconds(5);

ReconcileOptions reconcile_options(const ClusterRoleOptions& options) {
  return {.source = {std::string(engine::kProvisioner), {}},
          .workers = options.workers,
          .retry = options.retry,
          .most_finishing = kMostFinishing};
}

}  // namespace

ClusterRole::ClusterRole(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock,
                         Log& log, const ClusterRoleOptions& options, ClusterWork& work)
    : clock_(clock),
      log_(log),
      options_(options),
      claims_(api, log, {"persistentvolumeclaims", claims_path(), {}, {}}, decode_open_claim),
      volumes_(api, log, {"persistentvolumes", volumes_path(), std::string(kNodeLabel), {}},
               decode_volume),
      classes_(api, log, {"storageclasses", classes_path(), {}, {}}, decode_storage_class),
      nodes_(api, log, {"nodes", nodes_path(), {}, {}}, decode_node),
      beats_(api, log, {"leases", heartbeats_path(options.namespace_name), {}, {}},
             decode_heartbeat),
      loop_(io, api, clock, log, reconcile_options(options),
            [this](const std::string& key) { return this->work(key); }),
      queue_(loop_.queue()),
      parts_{api,    loop_.events(), claims_, volumes_, classes_, nodes_,
             beats_, observations_,  clock,   log,      work,     options},
      claim_worker_(parts_),
      volume_worker_(parts_),
      labeler_(parts_),
      registry_(parts_) {
  watch_changes();
}

void ClusterRole::watch_changes() {
  claims_.on_change([this](const std::string& key) { queue_.add(concat(kClaimKey, key)); });
  nodes_.on_change([this](const std::string& name) {
    const Node* node = nodes_.get(name);
    observations_.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                           clock_.now());
    look_at_label(name);
  });
  beats_.on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (!node) return;
    observations_.saw_lease(*node, beats_.get(key), clock_.now());
    look_at_label(*node);
  });
}

// Leases change all the time, and labels hardly ever.
void ClusterRole::look_at_label(const std::string& name) {
  const Node* const node = nodes_.get(name);
  const std::string key = concat(kNodeKey, name);
  if (node != nullptr && has_synced() && labeler_.needs_work(*node) && queue_.failures(key) == 0)
    queue_.add(key);
}

Task<void> ClusterRole::run() {
  loop_.watch(claims_.run());
  loop_.watch(volumes_.run());
  loop_.watch(classes_.run());
  loop_.watch(nodes_.run());
  loop_.watch(beats_.run());
  loop_.watch(scan_loop());
  loop_.watch(registry_loop());
  co_await loop_.run();
}

Task<void> ClusterRole::work(const std::string& key) {
  const Status status = co_await work_on(key);
  report(key, status);
}

// Before the lists are complete, "there is no such node" is not known; scan() comes after them.
Task<Status> ClusterRole::work_on(const std::string& key) {
  if (!has_synced()) co_return Status();
  Status status;
  if (key.starts_with(kClaimKey)) {
    const std::string claim = key.substr(kClaimKey.size());
    status = co_await claim_worker_.work(claim);
  } else if (key.starts_with(kNodeKey)) {
    const std::string node = key.substr(kNodeKey.size());
    status = co_await labeler_.work(node);
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
  nodes_.for_each([&](const std::string& name, const Node&) { look_at_label(name); });
}

// What failed is tried again soon, and what is not known yet is waited for.
Task<void> ClusterRole::registry_loop() {
  LastingTrouble trouble;
  Status waited = co_await beats_.wait_synced();
  while (waited) {
    Status looked = kube::cancelled_error();
    if (has_synced()) looked = co_await registry_.look();
    trouble.look(looked, log_, "the CSIDriver and CSIStorageCapacities are not looked after");
    const auto pause = looked ? options_.registry_interval : std::chrono::seconds(1);
    waited = co_await kube::sleep_for(pause);
  }
}

}  // namespace flexlocal::provisioner
