#include "provisioner/controller/cluster_role.h"

#include <utility>

#include "provisioner/controller/fleet_roll.h"
#include "provisioner/controller/work_keys.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// An API server that does not answer must not hold up the next leader.
constexpr auto kMostFinishing = std::chrono::seconds(5);
// Every node beats: a watch of their Leases that has brought nothing for so long is begun anew,
// before the nodes seem silent.
constexpr auto kBeatsStall = std::chrono::seconds(45);
static_assert(kBeatsStall >= 2 * kHeartbeatInterval && kBeatsStall < kHeartbeatDuration);

ReconcileOptions reconcile_options(const ClusterRoleOptions& options) {
  return {.source = {std::string(engine::kProvisioner), options.own_node},
          .workers = options.workers,
          .retry = options.retry,
          .most_finishing = kMostFinishing};
}

// In every marked claim and class of ours, as a value of its own: an annotation's, the
// provisioner's.
std::string our_mark() { return concat('"', engine::kProvisioner, '"'); }

// Of one node, and of all its claims and classes, only what concerns it.

kube::ResourceKind claims_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"persistentvolumeclaims", claims_path(), {}, {}, {}};
  if (options.is_of_one_node()) kind.marks = {our_mark()};
  return kind;
}

// A leader goes by no label: where a person took that away, nobody would hear that the volume is to
// be retained.
kube::ResourceKind volumes_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"persistentvolumes", volumes_path(), {}, {}, {our_mark()}};
  if (options.is_of_one_node()) kind.label_selector = concat(kNodeLabel, '=', options.own_node);
  return kind;
}

kube::ResourceKind nodes_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"nodes", nodes_path(), {}, {}, {}};
  if (options.is_of_one_node()) kind.field_selector = by_name(options.own_node);
  return kind;
}

kube::ResourceKind beats_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"leases", heartbeats_path(options.lease_namespace), {}, {}, {}};
  if (options.is_of_one_node()) kind.field_selector = by_name(heartbeat_name(options.own_node));
  return kind;
}

}  // namespace

ClusterRole::ClusterRole(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock,
                         Log& log, const ClusterRoleOptions& options, ClusterWork& work,
                         bool& put_back, kube::Informer<VolumeCopy>* copies)
    : api_(api),
      clock_(clock),
      log_(log),
      options_(options),
      work_(work),
      claims_(api, log, claims_kind(options), [this](JsonView object) { return decode(object); }),
      volumes_(api, log, volumes_kind(options),
               [this](JsonView object) { return decode_own_volume(object); }),
      classes_(api, log, {"storageclasses", classes_path(), {}, {}}, decode_storage_class),
      nodes_(api, log, nodes_kind(options), decode_node),
      beats_(api, log, beats_kind(options), decode_heartbeat, {.stall = kBeatsStall}),
      own_copies_(copies != nullptr
                      ? nullptr
                      : std::make_unique<kube::Informer<VolumeCopy>>(
                            api, log, kube::ResourceKind{"volumecopies", copies_path(), {}, {}, {}},
                            decode_copy)),
      copies_(copies != nullptr ? *copies : *own_copies_),
      loop_(io, api, clock, log, reconcile_options(options),
            [this](const std::string& key) { return this->work(key); }),
      queue_(loop_.queue()),
      roll_(make_roll(put_back)) {
  watch_changes();
  orders_.watch();
}

EventReporter ClusterRole::reporter() { return {loop_.events(), clock_}; }

std::unique_ptr<Roll> ClusterRole::make_roll(bool& put_back) {
  if (options_.is_of_one_node()) {
    auto fleet = std::make_unique<FleetRoll>(
        loop_.io(), api_, node_cache_, clock_, log_,
        FleetRollOptions{options_.own_node, options_.scan_interval / 4, put_back});
    fleet_ = fleet.get();
    return fleet;
  }
  return std::make_unique<RollCaller>(node_cache_, copies_, index_, std::string(), clock_, log_,
                                      put_back);
}

// What was asked for by name may be another node's.
std::optional<Volume> ClusterRole::decode_own_volume(JsonView object) const {
  auto volume = decode_volume(object);
  if (volume && options_.is_of_one_node() && volume->node != options_.own_node) return std::nullopt;
  return volume;
}

// For good: a claim that is bound needs us also when its class is gone. Of one node, claims are
// passed over that neither bear our mark nor name a class of ours.
void ClusterRole::know_class(const std::string& name) {
  if (name.empty() || !class_names_.insert(name).second || !options_.is_of_one_node()) return;
  claims_.add_mark(concat(R"("storageClassName":")", name, '"'));
}

// Open claims of whichever class, and bound ones of ours, which may grow. Of one node all claims of
// other classes are passed over; and for absent nodes nothing grows.
std::optional<Claim> ClusterRole::decode(JsonView claim) const {
  if (options_.is_of_one_node()) return decode_claim_of(claim, class_names_);
  auto open = decode_open_claim(claim);
  if (open || options_.scope == Scope::kAbsentNodes) return open;
  return decode_claim_of(claim, class_names_);
}

void ClusterRole::watch_changes() {
  claims_.on_change([this](const std::string& key) {
    if (is_worth_a_pass(key)) queue_.add(concat(kClaimKey, key));
  });
  classes_.on_change([this](const std::string& name) {
    if (classes_.get(name) != nullptr) know_class(name);
  });
  volumes_.on_change([this](const std::string& name) {
    if (const auto volume = volumes_.get(name)) know_class(volume->storage_class);
    if (has_synced()) restless_.insert(name);
  });
  copies_.on_change([this](const std::string& name) {
    if (has_synced()) restless_.insert(volume_of_copy(name));
  });
  nodes_.on_change([this](const std::string& name) {
    const Node* node = nodes_.get(name);
    if (node != nullptr) absence_.saw(name);
    // Volumes there have nobody any more who looks after them.
    if (node == nullptr) gather_ = true;
    enqueue_label(name);
  });
  beats_.on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (!node) return;
    const NodeHeartbeat* const beat = beats_.get(key);
    if (beat != nullptr) orders_.heard(*beat);
    enqueue_label(*node);
  });
}

// Leases change all the time, and labels hardly ever.
void ClusterRole::enqueue_label(const std::string& name) {
  const Node* const node = nodes_.get(name);
  if (node != nullptr && has_synced() && !options_.is_of_one_node() && labeler_.needs_work(*node))
    enqueue(queue_, kNodeKey, name);
}

// Of one node: most changes are of claims of other nodes, and each node hears of all of them.
bool ClusterRole::is_worth_a_pass(const std::string& key) {
  const bool is_turn = orders_.ranks() != nullptr && orders_.ranks()->notice(key);
  const auto claim = claims_.get(key);
  if (!options_.is_of_one_node() || claim == nullptr || is_turn) return true;
  return claim->volume_name.empty() ? orders_.is_concerned(*claim)
                                    : volumes_.get(claim->volume_name) != nullptr;
}

Task<void> ClusterRole::run() {
  if (orders_.ranks() != nullptr) {
    loop_.watch(orders_.ranks()->follow_rooms());
    loop_.watch(orders_.ranks()->follow_rounds());
  }
  if (fleet_ != nullptr) loop_.watch(fleet_->run());
  loop_.watch(follow_claims());
  loop_.watch(volumes_.run());
  loop_.watch(classes_.run());
  loop_.watch(nodes_.run());
  loop_.watch(beats_.run());
  if (own_copies_ != nullptr) loop_.watch(own_copies_->run());
  loop_.watch(silence_.run());
  loop_.watch(begin_orders());
  loop_.watch(scan_loop());
  loop_.watch(options_.is_of_one_node() ? republish_rooms() : registry_.run());
  co_await loop_.run();
}

// Which bound claims are ours is known by the classes that are there.
Task<void> ClusterRole::follow_claims() {
  const auto classes = co_await classes_.wait_synced();
  const auto volumes = co_await volumes_.wait_synced();
  if (classes && volumes) co_await claims_.run();
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
  if (options_.scope == Scope::kAbsentNodes)
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
  if (options_.is_of_one_node()) co_return Status();
  auto looked_after = co_await volume_worker_.work(volume);
  co_return looked_after;
}

Task<void> ClusterRole::begin_orders() {
  const std::function<bool()> synced = [this] { return has_synced(); };
  const Status begun = co_await orders_.begin(synced);
  if (!begun) co_return;
  // A bound claim is looked at when it changes: here for what changed before this term.
  claims_.for_each([this](const std::string& key, const Claim& claim) {
    if (orders_.is_to_grow(claim)) enqueue(queue_, kClaimKey, key);
  });
  if (orders_.ranks() != nullptr)
    open_claims_.for_each([this](const std::string& key) {
      if (orders_.ranks()->notice(key)) enqueue(queue_, kClaimKey, key);
    });
  gather_ = true;
  scan();
}

bool ClusterRole::has_synced() const {
  return std::apply([](const auto&... each) { return (each.has_synced() && ...); }, informers());
}

Status ClusterRole::readiness() const {
  std::vector<std::string> missing;
  const auto look = [&missing](const auto& informer) {
    if (!informer.has_synced()) missing.push_back(informer.kind());
  };
  std::apply([&look](const auto&... each) { (look(each), ...); }, informers());
  if (missing.empty()) return {};
  return Error(ErrorCode::kUnavailable,
               concat("it leads, and has no complete list yet of ", join(missing, ", "),
                      ": nothing is decided before; what fails is in the log"));
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
  open_claims_.for_each([&](const std::string& key) {
    const auto claim = claims_.get(key);
    if (!options_.is_of_one_node() || (claim != nullptr && orders_.is_concerned(*claim)))
      enqueue(queue_, kClaimKey, key);
  });
  if (std::exchange(gather_, false)) gather_restless();
  restless_.scan([&](const std::string& name) {
    const auto volume = volumes_.get(name);
    if (volume == nullptr || rests(*volume)) return false;
    enqueue(queue_, kVolumeKey, name);
    return true;
  });
  orders_.scan();
  nodes_.for_each([&](const std::string& name, const Node&) {
    enqueue_label(name);
    orders_.enqueue_room(name);
  });
}

bool ClusterRole::rests(const Volume& volume) const {
  return (options_.is_of_one_node() || nodes_.get(volume.node) != nullptr) && orders_.rests(volume);
}

void ClusterRole::gather_restless() {
  volumes_.for_each([&](const std::string& name, const Volume& volume) {
    if (!rests(volume)) restless_.insert(name);
  });
  orders_.gather_restless();
}

// Of one node: what is told of its room is told again, should somebody have changed it.
Task<void> ClusterRole::republish_rooms() {
  Status slept;
  while (slept) {
    const bool synced = has_synced();
    if (synced) orders_.republish_room(options_.own_node);
    const auto pause = synced ? options_.registry_interval : std::chrono::seconds(1);
    slept = co_await kube::sleep_for(pause);
  }
}

}  // namespace flexlocal::provisioner
