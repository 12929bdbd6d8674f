#include "provisioner/controller/order_controller.h"

#include "provisioner/controller/roll_caller.h"
#include "provisioner/controller/term.h"
#include "provisioner/controller/work_keys.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

OrderController::OrderController(ClusterParts& parts, kube::Informer<VolumeCopy>& copies,
                                 const OpenClaims& open_claims, kube::WorkQueue& queue,
                                 PendingClaimWorker& pending, NodeAbsence& absence, Roll& roll,
                                 CopyIndex& index)
    : parts_(parts),
      copies_(copies),
      queue_(queue),
      index_(index),
      chooser_(parts, index_),
      teller_(parts, open_claims, index_, chooser_, parts.options.daemon_set),
      desk_(parts.api, copies),
      roll_(roll),
      unordered_(parts, index_),
      order_worker_(parts, desk_, index_, chooser_, pending, roll_),
      growth_orderer_(parts, desk_, index_),
      replacements_(parts, desk_, index_, chooser_, roll_),
      end_worker_(parts, desk_, index_),
      orphans_(parts, desk_, roll_),
      copy_collector_(parts, desk_, index_, roll_, absence, orphans_) {
  const ClusterRoleOptions& options = parts.options;
  if (options.is_of_one_node() && options.immediate == ImmediateBinding::kRank)
    ranks_.emplace(parts, index_, queue,
                   [this](const std::string& name) { return own_room(name); });
}

// Of one node: what it has room for.
Bytes OrderController::own_room(const std::string& storage_class) {
  const Node* const node = parts_.nodes.get(parts_.options.own_node);
  const StorageClass* const known = parts_.classes.get(storage_class);
  return node == nullptr || known == nullptr ? Bytes() : teller_.room_of(*node, *known);
}

void OrderController::watch() {
  watch_orders();
  watch_rooms();
}

// What changes how much a node can be ordered.
void OrderController::watch_rooms() {
  teller_.on_changed([this](const std::string& node) { enqueue_room(node); });
  chooser_.on_hidden([this](const std::string& node) {
    enqueue_room(node);
    queue_.add_after(concat(kRoomKey, node), NodeChooser::kPassedOver);
  });
  parts_.nodes.on_change([this](const std::string& name) { enqueue_room(name); });
  parts_.beats.on_change([this](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1))) enqueue_room(*node);
  });
  copies_.on_change([this](const std::string& name) {
    const auto copy = copies_.get(name);
    if (copy != nullptr && copy->order) enqueue_room(copy->order->node);
  });
  parts_.classes.on_change([this](const std::string&) {
    parts_.nodes.for_each([this](const std::string& name, const Node&) { enqueue_room(name); });
  });
}

void OrderController::enqueue_room(const std::string& node) {
  if (begun_ && parts_.options.tells_room && parts_.orders_for(node))
    enqueue(queue_, kRoomKey, node);
}

void OrderController::republish_room(const std::string& node) {
  teller_.forget_told();
  enqueue_room(node);
}

// What a node answered may be what its claim, or its PersistentVolume, waits for.
void OrderController::watch_orders() {
  parts_.volumes.on_change([this](const std::string& name) {
    if (!begun_) return;
    queue_.add(concat(kVolumeKey, name));
    for (const std::string& copy : index_.names_of(name)) {
      restless_.insert(copy);
      queue_.add(concat(kCopyKey, copy));
    }
    // The expand controller may write a capacity when all is done, which changes no claim.
    if (const auto volume = parts_.volumes.get(name)) {
      desk_.forget_unoffered(copy_name(name, volume->copy));
      look_at_claim(volume->claim_namespace, volume->claim_name);
    }
  });
  copies_.on_change([this](const std::string& name) {
    if (!begun_) return;
    restless_.insert(name);
    queue_.add(concat(kCopyKey, name));
    queue_.add(concat(kVolumeKey, volume_of_copy(name)));
    const auto copy = copies_.get(name);
    if (copy != nullptr && copy->order)
      look_at_claim(copy->order->volume.claim_namespace, copy->order->claim_name);
  });
}

void OrderController::look_at_claim(const std::string& namespace_name, const std::string& name) {
  const std::string claim = concat(namespace_name, '/', name);
  if (parts_.claims.get(claim) != nullptr) queue_.add(concat(kClaimKey, claim));
}

Task<Status> OrderController::work_on_claim(const std::string& claim) {
  const auto known = parts_.claims.get(claim);
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
  Result<std::optional<std::chrono::nanoseconds>> again{std::optional<std::chrono::nanoseconds>()};
  if (has_volume)
    again = co_await work_on_bound(*known);
  else
    again = co_await order_worker_.work(claim);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kClaimKey, claim), **again);
  co_return Status();
}

Task<ReplacementWorker::Again> OrderController::work_on_bound(const Claim& known) {
  const Claim claim = known;  // the store may change while we wait
  ReplacementWorker::Again again{std::optional<std::chrono::nanoseconds>()};
  if (replacements_.concerns(claim)) {
    again = co_await replacements_.work(claim);
  } else {
    const std::string key = claim.key();
    again = co_await growth_orderer_.work(key);
  }
  co_return again;
}

// A controller of one node looks after claims that were sent there, and after those that something
// there may be of.
bool OrderController::is_concerned(const Claim& claim) const {
  if (parts_.options.scope == Scope::kAllNodes) return true;
  return parts_.options.is_of_one_node() &&
         (claim.selected_node == parts_.options.own_node ||
          !index_.names_of(volume_of_claim(claim.uid)).empty() ||
          index_.holding(claim.key()) != nullptr || unordered_.of_claim(claim).has_value());
}

bool OrderController::orders_copy(const VolumeCopy& copy) const {
  return parts_.orders_for(copy.order ? copy.order->node : copy.agent);
}

// One whose Node is gone has nobody who could end it: its copy is to be kept at the most.
Task<Status> OrderController::work_on_volume(const std::string& volume, bool has_node) {
  const auto known = parts_.volumes.get(volume);
  if (known != nullptr && !parts_.orders_for(known->node)) co_return Status();
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
  auto again = co_await copy_collector_.work(*copy);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kCopyKey, name), **again);
  co_return Status();
}

Task<Status> OrderController::work_on_unordered(const std::string& name) {
  if (orphans_.rests(name)) co_return Status();
  const auto found = unordered_.find(name);
  if (!found || !parts_.orders_for(found->node.name)) co_return Status();
  orphans_.begin_look(name);
  const Orphan orphan{order_to_keep(*found, parts_.cluster_id), found->copy.retained};
  auto again = co_await orphans_.work(orphan);
  if (!again) co_return again.error();
  if (*again) queue_.add_after(concat(kUnorderedKey, name), **again);
  co_return Status();
}

// Terms only rise: a host that followed a later one than ours would do nothing that we order.
Task<Status> OrderController::begin(const std::function<bool()>& has_synced) {
  LastingTrouble trouble;
  for (;;) {
    const Status learnt = co_await learn_cluster();
    trouble.look(learnt, parts_.log, "no orders are given yet");
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
  parts_.log.info("orders are given", {{"term", concat(term)}});
}

std::int64_t OrderController::highest_known_term() const {
  return highest_term(parts_, index_.highest_term());
}

Task<Status> OrderController::learn_cluster() {
  if (!parts_.cluster_id.empty()) co_return Status();
  const std::string path = namespace_path("kube-system");
  const auto system = co_await parts_.api.get(path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  parts_.cluster_id = uid_of(system->root());
  co_return Status();
}

void OrderController::heard(const NodeHeartbeat& beat) {
  if (!begun_ || is_excused(parts_.nodes, beat.node)) return;
  // A host that was silent has followed a later leader than the API server knew of.
  if (beat.report.roll && beat.report.roll->term > desk_.term() &&
      highest_known_term() > desk_.term())
    begin_term();
  else
    roll_.heard(beat);
}

bool OrderController::is_to_grow(const Claim& claim) const {
  const auto volume = parts_.volumes.get(claim.volume_name);
  return volume != nullptr && !std::holds_alternative<LeaveAlone>(plan_growth(
                                  claim, volume.get(), volume->node, parts_.cluster_id));
}

void OrderController::gather_restless() {
  copies_.for_each([&](const std::string& name, const VolumeCopy& copy) {
    if (orders_copy(copy) && !copy_collector_.rests(copy)) restless_.insert(name);
    const bool is_broken = is_given_up(copy) || copy.status.state == CopyState::kRefused;
    if (is_broken && copy.order)
      look_at_claim(copy.order->volume.claim_namespace, copy.order->claim_name);
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
  const std::set<std::string> unordered = unordered_.names();
  orphans_.forget_unless([&](const std::string& name) {
    return unordered.contains(name) || copies_.get(name) != nullptr;
  });
  for (const std::string& name : unordered) enqueue(queue_, kUnorderedKey, name);
}

}  // namespace flexlocal::provisioner
