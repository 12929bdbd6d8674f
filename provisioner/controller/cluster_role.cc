#include "provisioner/controller/cluster_role.h"

#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/controller/term.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kClaimKey = "claim:";
constexpr std::string_view kVolumeKey = "volume:";
constexpr std::string_view kNodeKey = "node:";
constexpr std::string_view kCopyKey = "copy:";
constexpr std::string_view kUnorderedKey = "unordered:";
constexpr std::string_view kRoomKey = "room:";
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
      index_(copies_, clock),
      teller_(parts_, open_claims_, index_, options.daemon_set),
      registry_(parts_, options.gives_orders ? &teller_ : nullptr),
      desk_(api, copies_),
      roll_(parts_, copies_, index_, put_back),
      unordered_(parts_, index_),
      order_worker_(parts_, desk_, index_, claim_worker_, roll_),
      growth_orderer_(parts_, desk_, index_),
      end_worker_(parts_, desk_, index_),
      orphans_(parts_, desk_, roll_),
      copy_collector_(parts_, desk_, roll_, absence_, orphans_) {
  watch_changes();
  if (!options.gives_orders) return;
  watch_orders();
  watch_rooms();
}

// What changes how much a node can be ordered.
void ClusterRole::watch_rooms() {
  teller_.on_changed([this](const std::string& node) { look_at_room(node); });
  nodes_.on_change([this](const std::string& name) { look_at_room(name); });
  beats_.on_change([this](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1))) look_at_room(*node);
  });
  copies_.on_change([this](const std::string& name) {
    const auto copy = copies_.get(name);
    if (copy != nullptr && copy->order) look_at_room(copy->order->node);
  });
  classes_.on_change([this](const std::string&) {
    nodes_.for_each([this](const std::string& name, const Node&) { look_at_room(name); });
  });
}

void ClusterRole::look_at_room(const std::string& node) {
  if (orders_begun_ && options_.tells_room) look_at(concat(kRoomKey, node));
}

// Open claims of whichever class; where orders are given, bound ones of ours, too, as they grow.
std::optional<Claim> ClusterRole::decode(JsonView claim) const {
  auto open = decode_open_claim(claim);
  if (open || !options_.gives_orders) return open;
  return decode_claim_of(claim, class_names_);
}

// What a node answered may be what its claim, or its PersistentVolume, waits for.
void ClusterRole::watch_orders() {
  classes_.on_change([this](const std::string& name) {
    if (classes_.get(name) != nullptr) class_names_.insert(name);
  });
  volumes_.on_change([this](const std::string& name) {
    if (!orders_begun_) return;
    queue_.add(concat(kVolumeKey, name));
    for (const std::string& copy : index_.names_of(name)) {
      restless_copies_.insert(copy);
      queue_.add(concat(kCopyKey, copy));
    }
    // The expand controller may write a capacity when all is done, which changes no claim.
    const auto volume = volumes_.get(name);
    if (volume == nullptr) return;
    const std::string claim = concat(volume->claim_namespace, '/', volume->claim_name);
    if (claims_.get(claim) != nullptr) queue_.add(concat(kClaimKey, claim));
  });
  copies_.on_change([this](const std::string& name) {
    if (!orders_begun_) return;
    restless_copies_.insert(name);
    queue_.add(concat(kCopyKey, name));
    const auto copy = copies_.get(name);
    if (copy == nullptr || !copy->order) return;
    const CopyOrder& order = *copy->order;
    restless_volumes_.insert(order.volume.name.text());
    queue_.add(concat(kVolumeKey, order.volume.name.text()));
    const std::string claim = concat(order.volume.claim_namespace, '/', order.claim_name);
    if (claims_.get(claim) != nullptr) queue_.add(concat(kClaimKey, claim));
  });
}

void ClusterRole::watch_changes() {
  claims_.on_change([this](const std::string& key) { queue_.add(concat(kClaimKey, key)); });
  volumes_.on_change([this](const std::string& name) {
    if (has_synced()) restless_volumes_.insert(name);
  });
  nodes_.on_change([this](const std::string& name) {
    const Node* node = nodes_.get(name);
    observations_.saw_node(name, node == nullptr ? std::nullopt : std::optional<bool>(node->ready),
                           clock_.now());
    if (node != nullptr) absence_.saw(name);
    if (node == nullptr) gather_ = true;
    look_at_label(name);
  });
  beats_.on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (!node) return;
    const NodeHeartbeat* const beat = beats_.get(key);
    observations_.saw_lease(*node, beat, clock_.now());
    if (beat != nullptr) look_at_roll(*beat);
    look_at_label(*node);
  });
}

void ClusterRole::look_at_roll(const NodeHeartbeat& beat) {
  if (!orders_begun_ || roll_.is_excused(beat.node)) return;
  // A host that was silent has followed a later leader than the API server knew of.
  if (beat.report.roll && beat.report.roll->term > desk_.term() &&
      highest_known_term() > desk_.term())
    begin_term();
  else
    roll_.heard(beat);
}

// Leases change all the time, and labels hardly ever.
void ClusterRole::look_at_label(const std::string& name) {
  const Node* const node = nodes_.get(name);
  if (node != nullptr && has_synced() && labeler_.needs_work(*node))
    look_at(concat(kNodeKey, name));
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
  Status status;
  if (key.starts_with(kClaimKey)) {
    const std::string claim = key.substr(kClaimKey.size());
    status = co_await work_on_claim(claim);
  } else if (key.starts_with(kNodeKey)) {
    const std::string node = key.substr(kNodeKey.size());
    status = co_await labeler_.work(node);
  } else if (key.starts_with(kRoomKey)) {
    const std::string node = key.substr(kRoomKey.size());
    status = co_await teller_.work(node);
  } else if (key.starts_with(kCopyKey)) {
    const std::string copy = key.substr(kCopyKey.size());
    status = co_await work_on_copy(copy);
  } else if (key.starts_with(kUnorderedKey)) {
    const std::string copy = key.substr(kUnorderedKey.size());
    status = co_await work_on_unordered(copy);
  } else {
    const std::string volume = key.substr(kVolumeKey.size());
    status = co_await work_on_volume(volume);
  }
  co_return status;
}

Task<Status> ClusterRole::work_on_claim(const std::string& claim) {
  if (!options_.gives_orders) {
    auto worked = co_await claim_worker_.work(claim);
    co_return worked;
  }
  if (!orders_begun_) co_return Status();
  const auto known = claims_.get(claim);
  if (known != nullptr && !known->volume_name.empty()) {
    auto again = co_await growth_orderer_.work(claim);
    if (again && *again) queue_.add_after(concat(kClaimKey, claim), **again);
    co_return again ? Status() : again.error();
  }
  if (known == nullptr) growth_orderer_.forget(claim);
  auto again = co_await order_worker_.work(claim);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kClaimKey, claim), **again);
  co_return Status();
}

// One whose Node is gone has nobody who could end it.
Task<Status> ClusterRole::work_on_volume(const std::string& volume) {
  const auto known = volumes_.get(volume);
  const bool has_node = known != nullptr && nodes_.get(known->node) != nullptr;
  if (orders_begun_ && has_node) {
    auto worked = co_await end_worker_.work(volume);
    co_return worked;
  }
  if (orders_begun_) {
    const Status kept = co_await end_worker_.keep(volume);
    // An order that cannot be given at all is no reason to say nothing of the volume.
    const bool passes = !kept && kept.error().code() != ErrorCode::kDenied &&
                        kept.error().code() != ErrorCode::kInvalid;
    if (passes) co_return kept;
  }
  auto looked_after = co_await volume_worker_.work(volume);
  co_return looked_after;
}

Task<Status> ClusterRole::work_on_copy(const std::string& name) {
  const auto known = copies_.get(name);
  if (known == nullptr) {
    copy_collector_.forget(name);
    co_return Status();
  }
  if (!orders_begun_) co_return Status();
  const VolumeCopy copy = *known;  // the store may change while we wait
  auto again = co_await copy_collector_.work(copy);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kCopyKey, name), **again);
  co_return Status();
}

// What its node tells, and no VolumeCopy names.
Task<Status> ClusterRole::work_on_unordered(const std::string& name) {
  if (!orders_begun_ || orphans_.rests(name)) co_return Status();
  const auto found = unordered_.find(name);
  if (!found) co_return Status();
  orphans_.begin_look(name);
  const Orphan orphan{order_to_keep(*found, parts_.cluster_id), found->copy.retained};
  auto again = co_await orphans_.work(orphan);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kUnorderedKey, name), **again);
  co_return Status();
}

// Terms only rise: a host that followed a later one than ours would do nothing that we order.
Task<void> ClusterRole::begin_orders() {
  LastingTrouble trouble;
  for (;;) {
    const Status learnt = co_await learn_cluster();
    trouble.look(learnt, log_, "no orders are given yet");
    if (learnt && has_synced()) break;
    auto slept = co_await kube::sleep_for(std::chrono::milliseconds(100));
    if (!slept) co_return;
  }
  begin_term();
  orders_begun_ = true;
  gather_ = true;
  scan();
}

void ClusterRole::begin_term() {
  const std::int64_t term = draw_term_above(highest_known_term());
  desk_.begin_term(term);
  roll_.begin(term);
  log_.info("orders are given", {{"term", concat(term)}});
}

std::int64_t ClusterRole::highest_known_term() const {
  return highest_term(parts_, roll_, index_.highest_term());
}

Task<Status> ClusterRole::learn_cluster() {
  if (!parts_.cluster_id.empty()) co_return Status();
  const std::string path = namespace_path("kube-system");
  const auto system = co_await parts_.api.get(path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  parts_.cluster_id = uid_of(system->root());
  co_return Status();
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
  open_claims_.for_each([&](const std::string& key) { look_at(concat(kClaimKey, key)); });
  if (std::exchange(gather_, false)) gather_restless();
  restless_volumes_.scan([&](const std::string& name) {
    const auto volume = volumes_.get(name);
    if (volume == nullptr || rests(*volume)) return false;
    look_at(concat(kVolumeKey, name));
    return true;
  });
  if (orders_begun_) scan_copies();
  nodes_.for_each([&](const std::string& name, const Node&) {
    look_at_label(name);
    look_at_room(name);
  });
}

// One that failed comes by its own back-off.
void ClusterRole::look_at(const std::string& key) {
  if (queue_.failures(key) == 0) queue_.add(key);
}

bool ClusterRole::rests(const Volume& volume) const {
  return nodes_.get(volume.node) != nullptr && (!orders_begun_ || end_worker_.rests(volume));
}

void ClusterRole::gather_restless() {
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    if (!rests(volume)) restless_volumes_.insert(name);
  });
  copies_.for_each([&](const std::string& name, const VolumeCopy& copy) {
    if (!copy_collector_.rests(copy)) restless_copies_.insert(name);
  });
}

void ClusterRole::scan_copies() {
  restless_copies_.scan([&](const std::string& name) {
    const auto copy = copies_.get(name);
    if (copy == nullptr || copy_collector_.rests(*copy)) return false;
    look_at(concat(kCopyKey, name));
    return true;
  });
  const std::set<std::string> unordered = unordered_.names();
  orphans_.forget_unless([&](const std::string& name) {
    return unordered.contains(name) || copies_.get(name) != nullptr;
  });
  for (const std::string& name : unordered) look_at(concat(kUnorderedKey, name));
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
