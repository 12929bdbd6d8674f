#include "provisioner/controller/cluster_role.h"

#include <utility>

#include "provisioner/controller/work_keys.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {
namespace {

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
                         Log& log, const ClusterRoleOptions& options, ClusterWork& work,
                         bool& put_back)
    : clock_(clock),
      log_(log),
      options_(options),
      claims_(api, log, {"persistentvolumeclaims", claims_path(), {}, {}},
              [this](JsonView object) { return decode(object); }),
      volumes_(api, log, {"persistentvolumes", volumes_path(), std::string(kNodeLabel), {}},
               decode_volume),
      classes_(api, log, {"storageclasses", classes_path(), {}, {}}, decode_storage_class),
      nodes_(api, log, {"nodes", nodes_path(), {}, {}}, decode_node),
      beats_(api, log, {"leases", heartbeats_path(options.namespace_name), {}, {}},
             decode_heartbeat),
      copies_(api, log, {"volumecopies", copies_path(), {}, {}}, decode_copy),
      loop_(io, api, clock, log, reconcile_options(options),
            [this](const std::string& key) { return this->work(key); }),
      queue_(loop_.queue()),
      parts_{api,    loop_.events(), claims_, volumes_, classes_, nodes_,
             beats_, observations_,  clock,   log,      work,     options},
      open_claims_(claims_),
      claim_worker_(parts_),
      absence_(parts_),
      volume_worker_(parts_, absence_),
      labeler_(parts_),
      orders_(parts_, copies_, open_claims_, queue_, claim_worker_, absence_, put_back),
      registry_(parts_, options.gives_orders ? &orders_.teller() : nullptr) {
  watch_changes();
  if (options.gives_orders) orders_.watch();
}

// Open claims of whichever class; where orders are given, bound ones of ours, too, as they grow.
std::optional<Claim> ClusterRole::decode(JsonView claim) const {
  auto open = decode_open_claim(claim);
  if (open || !options_.gives_orders) return open;
  return decode_claim_of(claim, class_names_);
}

void ClusterRole::watch_changes() {
  claims_.on_change([this](const std::string& key) { queue_.add(concat(kClaimKey, key)); });
  classes_.on_change([this](const std::string& name) {
    if (classes_.get(name) != nullptr) class_names_.insert(name);
  });
  volumes_.on_change([this](const std::string& name) {
    if (has_synced()) restless_.insert(name);
  });
  copies_.on_change([this](const std::string& name) {
    if (has_synced()) restless_.insert(volume_of_copy(name));
  });
  nodes_.on_change([this](const std::string& name) {
    const Node* node = nodes_.get(name);
    observations_.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                           clock_.now());
    if (node != nullptr) absence_.saw(name);
    // Volumes there have nobody any more who looks after them.
    if (node == nullptr) gather_ = true;
    look_at_label(name);
  });
  beats_.on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (!node) return;
    const NodeHeartbeat* const beat = beats_.get(key);
    observations_.saw_lease(*node, beat, clock_.now());
    if (beat != nullptr) orders_.heard(*beat);
    look_at_label(*node);
  });
}

// Leases change all the time, and labels hardly ever.
void ClusterRole::look_at_label(const std::string& name) {
  const Node* const node = nodes_.get(name);
  if (node != nullptr && has_synced() && labeler_.needs_work(*node))
    look_at(queue_, kNodeKey, name);
}

Task<void> ClusterRole::run() {
  loop_.watch(follow_claims());
  loop_.watch(volumes_.run());
  loop_.watch(classes_.run());
  loop_.watch(nodes_.run());
  loop_.watch(beats_.run());
  if (options_.gives_orders) {
    loop_.watch(copies_.run());
    loop_.watch(begin_orders());
  }
  loop_.watch(scan_loop());
  loop_.watch(registry_loop());
  co_await loop_.run();
}

// Which bound claims are ours is known by the classes that are there.
Task<void> ClusterRole::follow_claims() {
  const auto classes = co_await classes_.wait_synced();
  if (classes) co_await claims_.run();
}

Task<void> ClusterRole::work(const std::string& key) {
  const Status status = co_await work_on(key);
  report(key, status);
}

// Before the lists are complete, "there is no such node" is not known; scan() comes after them.
Task<Status> ClusterRole::work_on(const std::string& key) {
  if (!has_synced()) co_return Status();
  const std::size_t kind = key.find(':') + 1;
  const std::string name = key.substr(kind);
  Status status;
  if (key.starts_with(kClaimKey))
    status = co_await work_on_claim(name);
  else if (key.starts_with(kVolumeKey))
    status = co_await work_on_volume(name);
  else if (key.starts_with(kNodeKey))
    status = co_await labeler_.work(name);
  else if (key.starts_with(kRoomKey))
    status = co_await orders_.work_on_room(name);
  else if (orders_.has_begun() && key.starts_with(kCopyKey))
    status = co_await orders_.work_on_copy(name);
  else if (orders_.has_begun() && key.starts_with(kUnorderedKey))
    status = co_await orders_.work_on_unordered(name);
  co_return status;
}

Task<Status> ClusterRole::work_on_claim(const std::string& claim) {
  Status worked;
  if (!options_.gives_orders)
    worked = co_await claim_worker_.work(claim);
  else if (orders_.has_begun())
    worked = co_await orders_.work_on_claim(claim);
  co_return worked;
}

Task<Status> ClusterRole::work_on_volume(const std::string& volume) {
  if (orders_.has_begun()) {
    const auto known = volumes_.get(volume);
    const bool has_node = known != nullptr && nodes_.get(known->node) != nullptr;
    auto worked = co_await orders_.work_on_volume(volume, has_node);
    if (has_node || !worked) co_return worked;
  }
  auto looked_after = co_await volume_worker_.work(volume);
  co_return looked_after;
}

Task<void> ClusterRole::begin_orders() {
  const std::function<bool()> synced = [this] { return has_synced(); };
  const Status begun = co_await orders_.begin(synced);
  if (!begun) co_return;
  gather_ = true;
  scan();
}

bool ClusterRole::has_synced() const {
  return claims_.has_synced() && volumes_.has_synced() && classes_.has_synced() &&
         nodes_.has_synced() && beats_.has_synced() &&
         (!options_.gives_orders || copies_.has_synced());
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

// What time alone changes: claims that wait, volumes whose node is not there, and whatever is not
// as it is to stay.
void ClusterRole::scan() {
  open_claims_.for_each([&](const std::string& key) { look_at(queue_, kClaimKey, key); });
  if (std::exchange(gather_, false)) gather_restless();
  restless_.scan([&](const std::string& name) {
    const auto volume = volumes_.get(name);
    if (volume == nullptr || rests(*volume)) return false;
    look_at(queue_, kVolumeKey, name);
    return true;
  });
  orders_.scan();
  nodes_.for_each([&](const std::string& name, const Node&) {
    look_at_label(name);
    orders_.look_at_room(name);
  });
}

bool ClusterRole::rests(const Volume& volume) const {
  return nodes_.get(volume.node) != nullptr && orders_.rests(volume);
}

void ClusterRole::gather_restless() {
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    if (!rests(volume)) restless_.insert(name);
  });
  orders_.gather_restless();
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
