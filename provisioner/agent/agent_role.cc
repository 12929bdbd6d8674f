#include "provisioner/agent/agent_role.h"

#include <utility>

#include "provisioner/agent/copy_census.h"
#include "provisioner/agent/host_copy.h"
#include "provisioner/agent/pool_metrics.h"
#include "provisioner/kube/client_metrics.h"

namespace flexlocal::provisioner {
namespace {

// Before a volume that is wiped in slices is gone on with: each slice takes seconds, and one that
// could do nothing must not make a circle.
constexpr auto kBetweenSlices = std::chrono::milliseconds(100);

bool lacks_room(const VolumeCopy& copy) {
  const CopyCondition* const as_ordered = find_condition(copy.status, kAsOrdered);
  return as_ordered != nullptr && as_ordered->reason == kNotGrown;
}

// The answer to a new order is awaited, for the leader takes back what is not answered in time;
// what is to be grown, kept or removed comes next; a wipe, or a volume that is made ahead, can
// wait.
kube::Priority priority_of(const kube::Found<VolumeCopy>& copy) {
  if (copy == nullptr || is_answered(*copy)) return kube::Priority::kBackground;
  return copy->status.state == CopyState::kUnsaid ? kube::Priority::kAwaited
                                                  : kube::Priority::kNormal;
}

// Whether nothing is to come of it but what tells of itself.
bool is_settled(const VolumeCopy& copy) {
  const CopyStatus& status = copy.status;
  const CopyCondition* const as_ordered = find_condition(status, kAsOrdered);
  const CopyCondition* const behind = find_condition(status, kFileSystemResizePending);
  const bool at_rest = status.state == CopyState::kReady || status.state == CopyState::kRetained ||
                       status.state == CopyState::kRemoved;
  return at_rest && is_answered(copy) && (as_ordered == nullptr || as_ordered->holds) &&
         (behind == nullptr || !behind->holds);
}

AgentIdentity identity_of(const Membership& membership) {
  return {membership.node.name, membership.node.uid, membership.cluster_id};
}

ReconcileOptions reconcile_options(const AgentOptions& options, const std::string& node) {
  return {.source = {std::string(engine::kProvisioner), node},
          .workers = options.workers + kKeptForOrders,
          .kept_for_awaited = kKeptForOrders,
          .retry = options.retry};
}

}  // namespace

AgentRole::AgentRole(boost::asio::io_context& io, kube::ApiClient& api, Storage& storage,
                     const AgentNode& node, const Clock& clock, Log& log,
                     const AgentOptions& options)
    : api_(api),
      config_(node.config),
      log_(log),
      options_(options),
      self_{identity_of(node.membership), node.host_id},
      held_(not_ready("the node's Lease has not been renewed yet").error()),
      budget_{node.membership.memory, options.ram_fraction, options.disk_per_ram},
      copies_(api, log, copies_of(node.membership.node.name), decode_copy, options.reflect),
      loop_(io, api, clock, log, reconcile_options(options, node.membership.node.name),
            [this](const std::string& name) { return work(name); }),
      ledger_(storage, config_, clock),
      kubelet_init_(storage, loop_.events(), clock, log, node.membership.node),
      worker_(CopyClient(api, copies_),
              CopyHand(storage, ledger_, CopyJudge(ledger_, budget_), options.gives_up, clock, log),
              ledger_, config_, self_, clock),
      memory_(api, log, node.membership.node.name, budget_, [this] { room_changed(); }),
      disks_(
          storage, ledger_, log, options.disks,
          [this] {
            disks_changed();
            enqueue_all();
          },
          [this] { return in_trouble_ || has_waiting_copy(); }) {
  copies_.on_change([this](const std::string& name) { enqueue(name); });
}

Task<void> AgentRole::run() {
  loop_.watch(copies_.run());
  loop_.watch(disks_.tidy());
  loop_.watch(disks_.refresh_io_limits());
  loop_.watch(disks_.resume_suspended());
  loop_.watch(memory_.follow());
  co_await loop_.run();
}

void AgentRole::stop() {
  log_.info("stopping: what is begun is finished first");
  loop_.stop();
}

Task<void> AgentRole::work(const std::string& name) {
  if (held_) {
    loop_.queue().forget(name);  // all are looked at again afterwards
    co_return;
  }
  const bool removed_before = is_removed(name);
  const bool awaited = loop_.queue().priority_of(name) == kube::Priority::kAwaited;
  auto pass = co_await worker_.work(name, awaited ? Pace::kBrief : Pace::kWhole);
  report(name, pass);
  if (removed_before || !is_removed(name)) co_return;
  room_changed();
}

// Claims wait for it, and the leader goes by what the Lease says.
void AgentRole::room_changed() {
  room_freed_ = true;
  if (on_news_) on_news_();
}

void AgentRole::disks_changed() {
  if (on_news_ && disks_.state().usable() != reported_usable_) on_news_();
}

// With a beat, and so not for each of a thousand volumes that are removed.
void AgentRole::requeue_refused_growths() {
  if (!std::exchange(room_freed_, false)) return;
  copies_.for_each([this](const std::string& name, const VolumeCopy& copy) {
    if (lacks_room(copy)) enqueue(name);
  });
}

// A growth that lacks room, disks that are not seen, a file system that grows when it is mounted:
// somebody waits for what the kernel does not tell of.
bool AgentRole::has_waiting_copy() const {
  bool waits = false;
  copies_.for_each(
      [&waits](const std::string&, const VolumeCopy& copy) { waits = waits || !is_settled(copy); });
  return waits;
}

bool AgentRole::is_removed(const std::string& name) const {
  const auto copy = copies_.get(name);
  return copy != nullptr && copy->status.state == CopyState::kRemoved;
}

void AgentRole::report(const std::string& name, const Result<Pass>& pass) {
  kube::WorkQueue& queue = loop_.queue();
  if (pass) {
    queue.forget(name);
    if (*pass == Pass::kLater) queue.add(name, kube::Priority::kNormal);
    if (*pass == Pass::kRequeue) queue.add_after(name, kBetweenSlices, kube::Priority::kBackground);
    return;
  }
  // A conflict is no trouble: somebody was faster, and the watch brings what they wrote.
  const LogLevel level =
      pass.error().code() == ErrorCode::kConflict ? LogLevel::kDebug : LogLevel::kWarning;
  log_.write(level, "will be tried again",
             {{"copy", name},
              {"code", to_string(pass.error().code())},
              {"error", pass.error().message()}});
  queue.add_rate_limited(name, priority_of(copies_.get(name)));
}

void AgentRole::heard(const Status& beaten) {
  if (!beaten && beaten.error().code() == ErrorCode::kBusy) held_ = beaten.error();
  if (!beaten || !held_) return;
  held_.reset();
  enqueue_all();
}

// Before the disks were looked at and tidied, lost records are not yet made anew.
void AgentRole::enqueue(const std::string& name) {
  if (!disks_.state().tidied || held_) return;
  const auto copy = copies_.get(name);
  // What failed said so by its status: it comes by its own back-off, and not by its own words.
  if (copy != nullptr && is_answered(*copy) && loop_.queue().failures(name) != 0) return;
  loop_.queue().add(name, priority_of(copy));
}

// One that failed comes by its own back-off.
void AgentRole::enqueue_all() {
  copies_.for_each([this](const std::string& name, const VolumeCopy&) {
    if (loop_.queue().failures(name) == 0) enqueue(name);
  });
}

NodeReport AgentRole::report() {
  requeue_refused_growths();
  NodeState state = disks_.state();
  reported_usable_ = state.usable();
  state.kubelet = kubelet_init_.look();
  NodeReport report = report_of(state, config_, ledger_, budget_);
  report.orders_itself = options_.orders_itself;
  in_trouble_ = !report.trouble.empty();
  const engine::Inventory* const seen = ledger_.last_seen();
  if (seen == nullptr || !copies_.has_synced()) return report;
  report.roll = call_roll(*seen);
  return report;
}

CopyRoll AgentRole::call_roll(const engine::Inventory& seen) {
  std::vector<std::string> names;
  copies_.for_each([&](const std::string& name, const VolumeCopy&) { names.push_back(name); });
  const auto is_ordered = [this](const engine::VolumeSpec& spec) {
    return copies_.get(copy_name(spec)) != nullptr;
  };
  auto unordered = unordered_copies(seen, self_.identity.cluster_id, is_ordered);
  // What was removed since that look, and whose order is gone by now, is not there any more.
  std::erase_if(unordered, [this](const ToldCopy& copy) {
    return ledger_.has_removed(copy.volume.name.text());
  });
  return {.host = self_.id,
          .term = highest_term(seen, self_.identity.cluster_id),
          .orders = digest_of(std::move(names)),
          .told = std::move(unordered),
          .counted = ledger_.new_promises()};
}

Status AgentRole::readiness() {
  if (auto synced = check_synced(copies_); !synced) return synced;
  if (held_) return *held_;
  if (auto disks = disks_readiness(ledger_); !disks) return disks;
  return kubelet_init_.look();
}

void AgentRole::show_in(kube::Metrics& metrics, const std::string& host_counts) {
  show_pools(metrics, ledger_, config_);
  show_budgets(metrics, ledger_, budget_, config_);
  show_host_counts(metrics, host_counts);
  metrics.collect_gauge("flexlocal_ready", "Whether /readyz says so.",
                        [this] { return readiness() ? 1.0 : 0.0; });
  metrics.collect<kube::Gauge>(
      {"flexlocal_volume_copies", "Orders for this node, by what it answers to them.", {"state"}},
      [this](kube::Family<kube::Gauge>& out) {
        // An alert on "Lost" must find a zero, too.
        for (const CopyState state : {CopyState::kReady, CopyState::kLost})
          out.with({word_of(state)});
        copies_.for_each([&](const std::string&, const VolumeCopy& copy) {
          if (const auto word = word_of(copy.status.state); !word.empty()) out.with({word}).add(1);
        });
      });
}

kube::ClientView AgentRole::client() const {
  return {.queues = {{&loop_.queue(), "node"}},
          .apis = {&api_},
          .informers = {kube::InformerView(copies_)}};
}

}  // namespace flexlocal::provisioner
