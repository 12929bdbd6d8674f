#include "provisioner/controller/cluster_role.h"

#include <utility>

#include "provisioner/controller/view/roll_caller.h"
#include "provisioner/controller/view/work_keys.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// An API server that does not answer must not hold up the next leader.
constexpr auto kMostFinishing = std::chrono::seconds(5);

ReconcileOptions reconcile_options(const ClusterRoleOptions& options) {
  return {.source = {std::string(engine::kProvisioner), options.own_node},
          .workers = options.workers,
          .retry = options.retry,
          .most_finishing = kMostFinishing};
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
      lists_(api, log, options_, copies),
      loop_(io, api, clock, log, reconcile_options(options),
            [this](const std::string& key) { return this->work(key); }),
      queue_(loop_.queue()),
      roll_(make_roll(put_back)) {
  watch_changes();
  copies_.watch();
  rooms_.watch();
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
  return std::make_unique<RollCaller>(node_cache_, index_, std::string(), clock_, log_, put_back);
}

std::unique_ptr<ImmediateRanks> ClusterRole::make_ranks() {
  if (!options_.is_of_one_node() || options_.immediate != ImmediateBinding::kRank) return nullptr;
  return std::make_unique<ImmediateRanks>(view_, survey_, taker_, queue_, clock_);
}

// Of one node: what it has room for.
Bytes ClusterRole::own_room(const std::string& storage_class) {
  const Node* const node = view_.nodes.get(view_.own_node);
  const StorageClass* const known = view_.classes.get(storage_class);
  return node == nullptr || known == nullptr ? Bytes() : publisher_.room_of(*node, *known);
}

void ClusterRole::watch_changes() {
  view_.claims.on_change([this](const std::string& key) {
    if (claims_.notice(key)) queue_.add(concat(kClaimKey, key));
  });
  view_.volumes.on_change([this](const std::string& name) {
    if (lists_.has_synced()) volumes_.notice(name);
  });
  lists_.copies().on_change([this](const std::string& name) {
    if (lists_.has_synced()) volumes_.notice(volume_of_copy(name));
  });
  lists_.nodes().on_change([this](const std::string& name) {
    const bool is_there = view_.nodes.get(name) != nullptr;
    if (is_there) absence_.saw(name);
    // Volumes there have nobody any more who looks after them.
    if (!is_there) gather_ = true;
    enqueue_label(name);
  });
  lists_.beats().on_change([this](const std::string& key) {
    const auto node = node_of_heartbeat(key.substr(key.find('/') + 1));
    if (!node) return;
    const NodeHeartbeat* const beat = lists_.beats().get(key);
    if (beat != nullptr) term_.heard(*beat);
    enqueue_label(*node);
  });
}

// Leases change all the time, and labels hardly ever.
void ClusterRole::enqueue_label(const std::string& name) {
  const Node* const node = view_.nodes.get(name);
  if (node != nullptr && lists_.has_synced() && !options_.is_of_one_node() &&
      labeler_.needs_work(*node))
    enqueue(queue_, kNodeKey, name);
}

Task<void> ClusterRole::run() {
  if (ranks_ != nullptr) {
    loop_.watch(ranks_->follow_rooms());
    loop_.watch(ranks_->follow_rounds());
  }
  if (fleet_ != nullptr) loop_.watch(fleet_->run());
  lists_.follow(loop_);
  loop_.watch(silence_.run());
  loop_.watch(begin_orders());
  loop_.watch(scan_loop());
  loop_.watch(options_.is_of_one_node() ? republish_rooms() : registry_.run());
  co_await loop_.run();
}

Task<void> ClusterRole::work(const std::string& key) {
  const Status status = co_await work_on(key);
  report(key, status);
}

// Before the lists are complete, "there is no such node" is not known; scan() comes after them.
Task<Status> ClusterRole::work_on(const std::string& key) {
  if (!lists_.has_synced()) co_return Status();
  const std::size_t kind = key.find(':') + 1;
  const std::string name = key.substr(kind);
  Status status;
  if (key.starts_with(kClaimKey))
    status = co_await work_on_claim(name);
  else if (key.starts_with(kVolumeKey))
    status = co_await volumes_.work(name);
  else if (key.starts_with(kNodeKey))
    status = co_await labeler_.work(name);
  else if (key.starts_with(kRoomKey))
    status = co_await rooms_.work(name);
  else if (term_.has_begun() && key.starts_with(kCopyKey))
    status = co_await copies_.work(name);
  else if (term_.has_begun() && key.starts_with(kUnorderedKey))
    status = co_await unordered_.work(name);
  co_return status;
}

Task<Status> ClusterRole::work_on_claim(const std::string& claim) {
  Status worked;
  if (options_.scope == Scope::kAbsentNodes)
    worked = co_await pending_worker_.work(claim);
  else if (term_.has_begun())
    worked = co_await claims_.work(claim);
  co_return worked;
}

Task<void> ClusterRole::begin_orders() {
  const std::function<bool()> synced = [this] { return lists_.has_synced(); };
  const Status begun = co_await term_.begin(synced);
  if (!begun) co_return;
  // A bound claim is looked at when it changes: here for what changed before this term.
  view_.claims.for_each([this](const std::string& key, const Claim& claim) {
    if (growth_orderer_.concerns(claim)) enqueue(queue_, kClaimKey, key);
  });
  if (ranks_ != nullptr)
    open_claims_.for_each([this](const std::string& key) {
      if (ranks_->notice(key)) enqueue(queue_, kClaimKey, key);
    });
  gather_ = true;
  scan();
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
    const bool synced = lists_.has_synced();
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
    const auto claim = view_.claims.get(key);
    if (!options_.is_of_one_node() || (claim != nullptr && claims_.concerns(*claim)))
      enqueue(queue_, kClaimKey, key);
  });
  if (std::exchange(gather_, false)) {
    volumes_.gather_restless();
    copies_.gather_restless();
  }
  volumes_.scan();
  copies_.scan();
  unordered_.scan();
  view_.nodes.for_each([&](const std::string& name, const Node&) {
    enqueue_label(name);
    rooms_.enqueue(name);
  });
}

// Of one node: what is told of its room is told again, should somebody have changed it.
Task<void> ClusterRole::republish_rooms() {
  Status slept;
  while (slept) {
    const bool synced = lists_.has_synced();
    if (synced) rooms_.republish(options_.own_node);
    const auto pause = synced ? options_.registry_interval : std::chrono::seconds(1);
    slept = co_await kube::sleep_for(pause);
  }
}

}  // namespace flexlocal::provisioner
