#include "provisioner/agent/node_role.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/priority.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kClaimKey = "claim:";
constexpr std::string_view kVolumeKey = "volume:";

// Before a volume that is wiped in slices is gone on with: each slice takes seconds, and one that
// could do nothing must not make a circle.
constexpr auto kBetweenSlices = std::chrono::milliseconds(100);
constexpr auto kLeastOrphanInterval = std::chrono::milliseconds(100);

// In every marked claim and class of ours, as a value of its own: an annotation's, the
// provisioner's.
std::string our_mark() { return concat('"', engine::kProvisioner, '"'); }

kube::ResourceKind claims_kind() {
  return {"persistentvolumeclaims", claims_path(), {}, {}, {our_mark()}};
}

// Only this node's volumes: the label is there for this.
kube::ResourceKind volumes_kind(const std::string& node) {
  return {"persistentvolumes", volumes_path(), concat(kNodeLabel, '=', node), {}};
}

kube::ResourceKind classes_kind() {
  return {"storageclasses", classes_path(), {}, {}, {our_mark()}};
}

// A wipe goes on to the end of its slice, however long the disks take.
ReconcileOptions reconcile_options(const NodeRoleOptions& options, const std::string& node) {
  return {.source = {std::string(engine::kProvisioner), node},
          .workers = options.workers,
          .retry = options.retry};
}

// At least twice within the grace, and no more often than that is worth.
std::chrono::nanoseconds orphan_interval(const NodeRoleOptions& options) {
  const std::chrono::nanoseconds often = options.orphan_grace / 4;
  return std::max<std::chrono::nanoseconds>(
      std::min<std::chrono::nanoseconds>(often, options.disks.tidy), kLeastOrphanInterval);
}

}  // namespace

NodeRole::NodeRole(boost::asio::io_context& io, kube::ApiClient& api, Storage& storage,
                   const engine::NodeConfig& config, const Clock& clock, Log& log,
                   const Membership& membership, const NodeRoleOptions& options)
    : config_(config),
      log_(log),
      options_(options),
      claims_(
          api, log, claims_kind(),
          [this](JsonView object) { return decode_claim_of(object, class_names_); },
          options.reflect),
      volumes_(api, log, volumes_kind(membership.node.name), decode_volume, options.reflect),
      classes_(api, log, classes_kind(), decode_storage_class, options.reflect),
      loop_(io, api, clock, log, reconcile_options(options, membership.node.name),
            [this](const std::string& key) { return work(key); }),
      queue_(loop_.queue()),
      ledger_(storage, config, volumes_, clock, membership.node.name),
      kubelet_init_(storage, loop_.events(), clock, log, membership.node),
      parts_{api,
             loop_.events(),
             claims_,
             volumes_,
             classes_,
             storage,
             ledger_,
             kubelet_init_,
             clock,
             log,
             membership.node,
             membership.cluster_id,
             {membership.memory, options.ram_fraction, options.disk_per_ram}},
      claim_worker_(parts_),
      growth_worker_(parts_),
      volume_worker_(parts_),
      orphans_(parts_, config,
               {options.orphan_policy, options.orphan_grace, orphan_interval(options)}),
      promises_(parts_),
      capacity_(parts_, options.capacity, [this] { return state().usable(); }),
      survey_(parts_, options.capacity.namespace_name, [this] { enqueue_asking(); }),
      rank_placer_(
          parts_, survey_, [this](const std::string& name) { return capacity_.room_of(name); },
          [this](const std::string& claim, std::chrono::nanoseconds after) {
            queue_.add_after(concat(kClaimKey, claim), after);
          }),
      memory_(api, log, membership.node.name, parts_.budget),
      disks_(storage, ledger_, log, options.disks, [this] {
        enqueue_volumes();
        enqueue_growths();
      }) {
  claims_.on_change([this](const std::string& key) { enqueue_claim(key); });
  volumes_.on_change([this](const std::string& key) {
    if (const auto volume = volumes_.get(key)) {
      know_class(volume->storage_class);
      enqueue_settlement(*volume);
    }
    enqueue_volume(key);
  });
  // A class that is mended, or made after its claims, is what they may have waited for.
  classes_.on_change([this](const std::string& name) {
    capacity_.touch();
    if (classes_.get(name) != nullptr) know_class(name);
    claims_.for_each([&](const std::string& key, const Claim& claim) {
      if (claim.storage_class == name) enqueue_claim(key);
    });
  });
}

Task<void> NodeRole::run() {
  loop_.watch(follow_claims());
  loop_.watch(volumes_.run());
  loop_.watch(classes_.run());
  loop_.watch(begin());
  loop_.watch(disks_.tidy());
  loop_.watch(disks_.refresh_io_limits());
  loop_.watch(disks_.resume_suspended());
  loop_.watch(promises_.run(options_.disks.tidy));
  loop_.watch(orphans_.run());
  loop_.watch(capacity_.run());
  if (ranks()) loop_.watch(follow_rooms());
  if (ranks()) loop_.watch(rounds_loop());
  loop_.watch(memory_.follow(options_.disks.tidy));
  co_await loop_.run();
}

// Which claims are ours is known by the classes and volumes that are there.
Task<void> NodeRole::follow_claims() {
  auto classes = co_await classes_.wait_synced();
  auto volumes = co_await volumes_.wait_synced();
  if (classes && volumes) co_await claims_.run();
}

// What is told is kept of known classes only.
Task<void> NodeRole::follow_rooms() {
  auto classes = co_await classes_.wait_synced();
  if (classes) co_await survey_.run();
}

// For good: a claim that is bound needs us also when its class is gone. One that was made before
// its class is seen when it is marked.
void NodeRole::know_class(const std::string& name) {
  if (name.empty() || !class_names_.insert(name).second) return;
  claims_.add_mark(concat(R"("storageClassName":")", name, '"'));
}

void NodeRole::stop() {
  log_.info("stopping: what is begun is finished first");
  loop_.stop();
}

NodeState NodeRole::state() const {
  NodeState state = disks_.state();
  state.kubelet = kubelet_;
  return state;
}

NodeReport NodeRole::report() {
  kubelet_ = kubelet_init_.look();
  return report_of(state(), config_, ledger_, parts_.budget);
}

Task<void> NodeRole::work(const std::string& key) {
  auto pass = co_await work_on(key);
  report(key, pass);
}

// Before the lists are complete, "there is no such volume" is not known: what came with them is
// looked at now.
Task<void> NodeRole::begin() {
  auto claims = co_await claims_.wait_synced();
  auto volumes = co_await volumes_.wait_synced();
  auto classes = co_await classes_.wait_synced();
  if (!claims || !volumes || !classes) co_return;
  enqueue_claims();
  enqueue_volumes();
}

Task<Result<Pass>> NodeRole::work_on(const std::string& key) {
  if (key.starts_with(kClaimKey)) {
    const std::string claim = key.substr(kClaimKey.size());
    auto status = co_await work_on_claim(claim);
    if (!status) co_return status.error();
    co_return Pass::kDone;
  }
  const std::string volume = key.substr(kVolumeKey.size());
  auto pass = co_await volume_worker_.work(volume);
  co_return pass;
}

// Made first, then grown: a claim that is bound is the former's no more, and one that is nobody's
// yet is neither's.
Task<Status> NodeRole::work_on_claim(const std::string& claim) {
  if (is_left_to_others(claim)) co_return Status();
  auto made = co_await claim_worker_.work(claim);
  if (!made) co_return made;
  auto grown = co_await growth_worker_.work(claim);
  if (!grown || !ranks()) co_return grown;
  const auto again = co_await rank_placer_.work(claim);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kClaimKey, claim), **again);
  co_return Status();
}

LogSubject NodeRole::subject_of(const std::string& key) const {
  if (!key.starts_with(kClaimKey))
    return subject_of_volume(key.substr(kVolumeKey.size()), volumes_);
  return subject_of_claim(key.substr(kClaimKey.size()), claims_);
}

void NodeRole::report(const std::string& key, const Result<Pass>& pass) {
  if (pass) {
    queue_.forget(key);
    if (*pass == Pass::kAgain) queue_.add_after(key, kBetweenSlices);
    return;
  }
  // A conflict is no trouble: somebody was faster, and the watch brings what they wrote.
  const LogLevel level =
      pass.error().code() == ErrorCode::kConflict ? LogLevel::kDebug : LogLevel::kWarning;
  const LogSubject subject = subject_of(key);
  log_.write(level, "will be tried again",
             {{"namespace", subject.namespace_name},
              {"claim", subject.claim},
              {"volume", subject.volume},
              {"code", to_string(pass.error().code())},
              {"error", pass.error().message()}});
  queue_.add_rate_limited(key);
}

void NodeRole::enqueue_claims() {
  claims_.for_each([this](const std::string& key, const Claim&) { enqueue_claim(key); });
}

void NodeRole::enqueue_claim(const std::string& key) {
  if (!has_synced() || is_left_to_others(key)) return;
  const auto claim = claims_.get(key);
  const auto volume = claim == nullptr ? nullptr : volumes_.get(claim->volume_name);
  queue_.add(concat(kClaimKey, key), priority_of(claim.get(), volume.get(), parts_.node.name));
}

// A change of its volume's capacity comes by the claim, whose status follows, or by
// enqueue_settlement(). Most claims of a cluster are other nodes', and each of their changes comes
// by here: no pass is spent on them, unless it may take back what is reserved for one that has gone
// elsewhere, or the claim waits for a node and it may be this node's turn. While others go first it
// is looked at again later.
bool NodeRole::is_left_to_others(const std::string& key) {
  const bool waits = ranks() && rank_placer_.notice(key);
  const auto claim = claims_.get(key);
  const bool here = claim != nullptr && claim->selected_node == parts_.node.name;
  const bool has_volume = claim != nullptr && volumes_.get(claim->volume_name) != nullptr;
  if (here || has_volume || ledger_.has_reservations()) return false;
  if (!waits) return true;
  const auto later = rank_placer_.others_first(key);
  if (later && *later <= RankPlacer::kRound) queue_.add_after(concat(kClaimKey, key), *later);
  return later.has_value();
}

// What others go first for, for longer than a round.
Task<void> NodeRole::rounds_loop() {
  for (;;) {
    auto slept = co_await kube::sleep_for(RankPlacer::kRound);
    if (!slept) co_return;
    for (const std::string& claim : rank_placer_.next_round())
      if (!is_left_to_others(claim)) queue_.add(concat(kClaimKey, claim));
  }
}

void NodeRole::enqueue_asking() {
  for (const std::string& key : rank_placer_.asking()) queue_.add(concat(kClaimKey, key));
}

// What waits for a mount is concluded when the disks show one.
void NodeRole::enqueue_growths() {
  if (!has_synced()) return;
  claims_.for_each([this](const std::string& name, const Claim& claim) {
    const std::string key = concat(kClaimKey, name);
    if (claim.file_system_pending && queue_.failures(key) == 0) queue_.add(key);
  });
}

// The expand controller may write a PersistentVolume's capacity when all is done, which changes no
// claim.
void NodeRole::enqueue_settlement(const Volume& volume) {
  if (!has_synced()) return;
  const std::string name = concat(volume.claim_namespace, '/', volume.claim_name);
  const auto claim = claims_.get(name);
  if (claim == nullptr) return;
  const auto plan = plan_growth(*claim, &volume, parts_.node.name, parts_.cluster_id);
  if (std::holds_alternative<Settle>(plan)) queue_.add(concat(kClaimKey, name));
}

void NodeRole::enqueue_volumes() {
  volumes_.for_each([this](const std::string& name, const Volume&) {
    // One that failed comes by its own back-off.
    if (queue_.failures(concat(kVolumeKey, name)) == 0) enqueue_volume(name);
  });
}

void NodeRole::enqueue_volume(const std::string& name) {
  if (has_synced()) queue_.add(concat(kVolumeKey, name));
}

}  // namespace flexlocal::provisioner
