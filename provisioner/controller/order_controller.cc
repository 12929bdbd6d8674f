#include "provisioner/controller/order_controller.h"

#include "provisioner/controller/roll_caller.h"
#include "provisioner/controller/term.h"
#include "provisioner/controller/work_keys.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

OrderController::OrderController(const ClusterRoleOptions& options, kube::ApiClient& api,
                                 kube::EventRecorder& events, ClusterView& view,
                                 kube::Informer<VolumeCopy>& copies, const OpenClaims& open_claims,
                                 kube::WorkQueue& queue, SelectedNodeWorker& selected,
                                 NoRoomReport& no_room, NodeAbsence& absence, Roll& roll,
                                 const Clock& clock, Log& log, ClusterWork& work)
    : options_(options),
      api_(api),
      view_(view),
      copies_(copies),
      queue_(queue),
      log_(log),
      chooser_(view, under_way_, clock),
      publisher_(api, view, open_claims, chooser_, {options.namespace_name, options.daemon_set}),
      desk_(api, copies, under_way_, log),
      roll_(roll),
      drafter_(api, view, desk_),
      provisioning_(EventReporter(events, clock), log, work),
      binder_(api, view, provisioning_),
      assigner_(view, chooser_, selected, no_room, provisioning_),
      prior_copies_(view, roll, desk_, provisioning_),
      copy_orderer_(prior_copies_, assigner_, drafter_, desk_, provisioning_),
      claim_binder_(prior_copies_, binder_, desk_, assigner_),
      planner_(view, desk_, roll, options.immediate),
      order_worker_(view, planner_, copy_orderer_, claim_binder_, assigner_, provisioning_),
      growth_orderer_(api, view, desk_, EventReporter(events, clock), clock, work.volumes.grow),
      replacement_report_(EventReporter(events, clock), log, work),
      replacer_(api, view, binder_, replacement_report_),
      replacement_orderer_(view, roll, chooser_, drafter_, desk_, replacement_report_),
      replacements_(view, roll, desk_, replacement_orderer_, replacer_, replacement_report_),
      end_worker_(api, view, desk_, EventReporter(events, clock), log, work.volumes.remove),
      orphan_options_{options.orphan_policy, options.orphan_grace, options.saw_put_back,
                      options.node_delete_policy},
      owners_(api, view),
      orphan_ages_(orphan_options_, clock),
      orphan_report_(orphan_ages_, EventReporter(events, clock), clock, log),
      orphan_removal_(owners_, roll, desk_, orphan_ages_, orphan_report_, orphan_options_),
      orphans_(view, owners_, orphan_ages_, orphan_removal_, orphan_report_, orphan_options_),
      removed_copies_(desk_, clock),
      nodeless_copies_(view, absence, desk_, orphan_options_, log),
      unneeded_(view, owners_, roll, desk_, orphans_, nodeless_copies_),
      copy_collector_(view, owners_, removed_copies_, nodeless_copies_, orphans_, unneeded_) {
  if (view.is_of_one_node() && options.immediate == ImmediateBinding::kRank)
    ranks_.emplace(
        api, view, options.namespace_name, queue,
        [this](const std::string& name) { return own_room(name); }, clock, log, work);
}

// Of one node: what it has room for.
Bytes OrderController::own_room(const std::string& storage_class) {
  const Node* const node = view_.nodes.get(view_.own_node);
  const StorageClass* const known = view_.classes.get(storage_class);
  return node == nullptr || known == nullptr ? Bytes() : publisher_.room_of(*node, *known);
}

void OrderController::watch() {
  watch_orders();
  watch_rooms();
}

// What changes how much a node can be ordered.
void OrderController::watch_rooms() {
  publisher_.on_changed([this](const std::string& node) { enqueue_room(node); });
  chooser_.on_hidden([this](const std::string& node) {
    enqueue_room(node);
    queue_.add_after(concat(kRoomKey, node), NodeChooser::kHidden);
  });
  view_.nodes.nodes().on_change([this](const std::string& name) { enqueue_room(name); });
  view_.nodes.beats().on_change([this](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1))) enqueue_room(*node);
  });
  copies_.on_change([this](const std::string& name) {
    const auto copy = copies_.get(name);
    if (copy != nullptr && copy->order) enqueue_room(copy->order->node);
  });
  view_.classes.on_change([this](const std::string&) {
    view_.nodes.for_each([this](const std::string& name, const Node&) { enqueue_room(name); });
  });
}

void OrderController::enqueue_room(const std::string& node) {
  if (begun_ && options_.tells_room && view_.orders_for(node)) enqueue(queue_, kRoomKey, node);
}

void OrderController::republish_room(const std::string& node) {
  publisher_.forget_published();
  enqueue_room(node);
}

// What a node answered may be what its claim, or its PersistentVolume, waits for.
void OrderController::watch_orders() {
  view_.volumes.on_change([this](const std::string& name) {
    if (!begun_) return;
    queue_.add(concat(kVolumeKey, name));
    for (const std::string& copy : view_.copies.names_of(name)) {
      restless_.insert(copy);
      queue_.add(concat(kCopyKey, copy));
    }
    // The expand controller may write a capacity when all is done, which changes no claim.
    if (const auto volume = view_.volumes.get(name))
      enqueue_claim(volume->claim_namespace, volume->claim_name);
  });
  copies_.on_change([this](const std::string& name) {
    if (!begun_) return;
    restless_.insert(name);
    queue_.add(concat(kCopyKey, name));
    queue_.add(concat(kVolumeKey, volume_of_copy(name)));
    const auto copy = copies_.get(name);
    if (copy != nullptr && copy->order)
      enqueue_claim(copy->order->volume.claim_namespace, copy->order->claim_name);
  });
}

void OrderController::enqueue_claim(const std::string& namespace_name, const std::string& name) {
  const std::string claim = concat(namespace_name, '/', name);
  if (view_.claims.get(claim) != nullptr) queue_.add(concat(kClaimKey, claim));
}

Task<Status> OrderController::work_on_claim(const std::string& claim) {
  const auto known = view_.claims.get(claim);
  const bool has_volume = known != nullptr && !known->volume_name.empty();
  if (known != nullptr && !has_volume && !is_concerned(*known)) {
    if (!ranks_ || !known->selected_node.empty()) co_return Status();
    auto ranked = co_await ranks_->work(claim);
    co_return ranked;
  }
  if (known == nullptr) {
    growth_orderer_.forget(claim);
    replacements_.forget(claim);
  }
  Requeue requeue{RequeueAfter()};
  if (has_volume)
    requeue = co_await work_on_bound(*known);
  else
    requeue = co_await order_worker_.work(claim);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kClaimKey, claim), **requeue);
  co_return Status();
}

Task<Requeue> OrderController::work_on_bound(const Claim& known) {
  const Claim claim = known;  // the store may change while we wait
  Requeue requeue{RequeueAfter()};
  if (replacements_.concerns(claim)) {
    requeue = co_await replacements_.work(claim);
  } else {
    const std::string key = claim.key();
    requeue = co_await growth_orderer_.work(key);
  }
  co_return requeue;
}

// A controller of one node looks after claims that were sent there, and after those that something
// there may be of.
bool OrderController::is_concerned(const Claim& claim) const {
  if (view_.scope == Scope::kAllNodes) return true;
  return view_.is_of_one_node() && (claim.selected_node == view_.own_node ||
                                    !view_.copies.names_of(volume_of_claim(claim.uid)).empty() ||
                                    view_.copies.holding(claim.key()) != nullptr ||
                                    view_.unordered().of_claim(claim).has_value());
}

bool OrderController::orders_copy(const VolumeCopy& copy) const {
  return view_.orders_for(copy.order ? copy.order->node : copy.agent);
}

// One whose Node is gone has nobody who could end it: its copy is to be kept at the most.
Task<Status> OrderController::work_on_volume(const std::string& volume, bool has_node) {
  const auto known = view_.volumes.get(volume);
  if (known != nullptr && !view_.orders_for(known->node)) co_return Status();
  if (has_node) {
    auto worked = co_await end_worker_.work(volume);
    co_return worked;
  }
  const Status kept = co_await end_worker_.keep(volume);
  // An order that cannot be given at all is no reason to say nothing of the volume.
  const bool is_given_up = !kept && (kept.error().code() == ErrorCode::kDenied ||
                                     kept.error().code() == ErrorCode::kInvalid);
  co_return is_given_up ? Status() : kept;
}

Task<Status> OrderController::work_on_copy(const std::string& name) {
  const auto copy = copies_.get(name);
  if (copy == nullptr) {
    copy_collector_.forget(name);
    co_return Status();
  }
  if (!orders_copy(*copy)) co_return Status();
  auto requeue = co_await copy_collector_.work(*copy);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kCopyKey, name), **requeue);
  co_return Status();
}

Task<Status> OrderController::work_on_unordered(const std::string& name) {
  if (orphans_.rests(name)) co_return Status();
  const auto found = view_.unordered().find(name);
  if (!found || !view_.orders_for(found->node.name)) co_return Status();
  orphans_.begin_look(name);
  const Orphan orphan{order_to_keep(*found, desk_.cluster_id()), found->copy.retained};
  auto requeue = co_await orphans_.work(orphan);
  if (!requeue) co_return requeue.error();
  if (*requeue) queue_.add_after(concat(kUnorderedKey, name), **requeue);
  co_return Status();
}

// Terms only rise: a host that followed a later one than ours would do nothing that we order.
Task<Status> OrderController::begin(const std::function<bool()>& has_synced) {
  LastingTrouble trouble;
  for (;;) {
    const Status learnt = co_await learn_cluster();
    trouble.look(learnt, log_, "no orders are given yet");
    if (learnt && has_synced()) break;
    auto slept = co_await kube::sleep_for(std::chrono::milliseconds(100));
    if (!slept) co_return slept;
  }
  begin_term();
  begun_ = true;
  co_return Status();
}

void OrderController::begin_term() {
  const std::int64_t term = draw_term_above(highest_known_term());
  desk_.begin_term(term);
  roll_.begin(term);
  log_.info("orders are given", {{"term", concat(term)}});
}

std::int64_t OrderController::highest_known_term() const {
  return highest_term(view_.nodes, log_, view_.copies.highest_term());
}

Task<Status> OrderController::learn_cluster() {
  if (!desk_.cluster_id().empty()) co_return Status();
  const std::string path = namespace_path("kube-system");
  const auto system = co_await api_.get(path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  desk_.set_cluster_id(uid_of(system->root()));
  co_return Status();
}

void OrderController::heard(const NodeHeartbeat& beat) {
  if (!begun_ || is_excused(view_.nodes, beat.node)) return;
  // A host that was silent has followed a later leader than the API server knew of.
  if (beat.report.roll && beat.report.roll->term > desk_.term() &&
      highest_known_term() > desk_.term())
    begin_term();
  else
    roll_.heard(beat);
}

bool OrderController::is_to_grow(const Claim& claim) const {
  const auto volume = view_.volumes.get(claim.volume_name);
  return volume != nullptr && !std::holds_alternative<LeaveAlone>(plan_growth(
                                  claim, volume.get(), volume->node, desk_.cluster_id()));
}

void OrderController::gather_restless() {
  copies_.for_each([&](const std::string& name, const VolumeCopy& copy) {
    if (orders_copy(copy) && !copy_collector_.rests(copy)) restless_.insert(name);
    const bool is_broken =
        is_given_up(copy) || is_gone_unused(copy) || copy.status.state == CopyState::kRefused;
    if (is_broken && copy.order)
      enqueue_claim(copy.order->volume.claim_namespace, copy.order->claim_name);
  });
}

void OrderController::scan() {
  if (!begun_) return;
  restless_.scan([&](const std::string& name) {
    const auto copy = copies_.get(name);
    if (copy == nullptr || !orders_copy(*copy) || copy_collector_.rests(*copy)) return false;
    enqueue(queue_, kCopyKey, name);
    return true;
  });
  const std::set<std::string> unordered = view_.unordered().names();
  orphans_.forget_unless([&](const std::string& name) {
    return unordered.contains(name) || copies_.get(name) != nullptr;
  });
  for (const std::string& name : unordered) enqueue(queue_, kUnorderedKey, name);
}

}  // namespace flexlocal::provisioner
