#include "provisioner/controller/pending_claim_worker.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/names.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Between two events of the same words, doubling; the recorder counts them as one.
constexpr kube::BackoffOptions kRepeat{std::chrono::minutes(1), std::chrono::minutes(15)};

bool is_missing(const Error& error) { return error.code() == ErrorCode::kNotFound; }

}  // namespace

Task<Status> PendingClaimWorker::work(const std::string& key) {
  const auto known = parts_.claims.get(key);
  const bool exists =
      known != nullptr && parts_.volumes.get(volume_of_claim(known->uid)) != nullptr;
  if (known == nullptr || exists || !is_for_us(*known)) {
    told_.erase(key);
    co_return Status();
  }
  const Claim claim = *known;  // the store may change while we wait
  if (!waits_for_node(claim, exists)) {
    auto looked = co_await look_for_node(claim);
    co_return looked;
  }
  auto looked = co_await look_after_choice(claim);
  co_return looked;
}

// One that is not marked is ours if its class is, and its node's choice is looked after when it is.
bool PendingClaimWorker::is_for_us(const Claim& claim) const {
  if (claim.deleting || !claim.volume_name.empty()) return false;
  return claim.marked ||
         (claim.selected_node.empty() && parts_.classes.get(claim.storage_class) != nullptr);
}

Task<Status> PendingClaimWorker::look_for_node(const Claim& claim) {
  const bool ours = placer_.waits(claim) && parts_.options.immediate == ImmediateBinding::kCentral;
  if (ours) {
    const auto placed = co_await placer_.place(claim);
    if (!placed) co_return placed.error();
    if (*placed) {
      told_.erase(claim.key());
      co_return Status();
    }
  }
  report_no_room(claim);
  co_return Status();
}

Task<Status> PendingClaimWorker::look_after_choice(const Claim& claim) {
  const std::string& node = claim.selected_node;
  const auto lost_after = parts_.options.node_lost_after;
  // Anyone who may write a claim may write anything there.
  if (!is_dns_subdomain(node)) {
    const std::string why = concat("node ", printable(node, 80), " is gone");
    auto taken = co_await take_back(claim, why);
    co_return taken;
  }
  if (const auto why = objection_to_way(node)) {
    auto taken = co_await take_back(claim, *why);
    co_return taken;
  }
  auto health = parts_.observations.health(node, parts_.clock.now());
  // What the informers have may be old: they could have been cut off without noticing.
  health.confirmed = true;
  if (!objection_to_node(node, health, lost_after)) co_return Status();
  auto asked = co_await look_again(node);
  if (!asked) co_return asked;
  health = parts_.observations.health(node, parts_.clock.now());
  const auto why = objection_to_node(node, health, lost_after);
  if (!why) co_return Status();
  auto taken = co_await take_back(claim, *why);
  co_return taken;
}

// Where each node's daemon gives its own orders, one that waits for them gets none.
std::optional<std::string> PendingClaimWorker::objection_to_way(const std::string& name) const {
  const Node* const node = parts_.nodes.get(name);
  if (parts_.options.scope != Scope::kAbsentNodes || node == nullptr) return std::nullopt;
  const NodeView view = parts_.view_of(*node);
  if (!view.carries_out() || view.orders_itself()) return std::nullopt;
  return concat("the node daemon of node ", name,
                " waits for the orders of a leader (--provisioning=central), and there is none");
}

// The informers' handlers tell the observations what changed.
Task<Status> PendingClaimWorker::look_again(const std::string& node) {
  const std::string path_of_node = node_path(node);
  const auto object = co_await parts_.api.get(path_of_node);
  if (!object && !is_missing(object.error())) co_return object.error();
  if (!object) {
    parts_.observations.saw_node(node, std::nullopt, parts_.clock.now());
    co_return Status();
  }
  parts_.nodes.put(object->root());
  const std::string lease_path = heartbeat_path(parts_.options.lease_namespace, node);
  const auto lease = co_await parts_.api.get(lease_path);
  if (!lease && !is_missing(lease.error())) co_return lease.error();
  if (lease)
    parts_.beats.put(lease->root());
  else
    parts_.observations.saw_lease(node, nullptr, parts_.clock.now());
  parts_.observations.confirm_silence(node, parts_.clock.now());
  co_return Status();
}

Task<Status> PendingClaimWorker::take_back(const Claim& claim, const std::string& why) {
  const std::string path = claim_path(claim);
  const std::string body = patch_without_selected_node(claim);
  const auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer && is_missing(answer.error())) co_return Status();
  if (!answer) co_return answer.error().context("handing the claim back");
  parts_.claims.put(answer->root());
  parts_.work.claims_handed_back.with({}).add();
  parts_.log.info("claim handed back",
                  {{"namespace", claim.namespace_name}, {"claim", claim.name}, {"why", why}});
  parts_.events.record({reference_to(claim), kube::EventType::kWarning, "ProvisioningFailed",
                        concat(why, "; another node is looked for")});
  co_return Status();
}

void PendingClaimWorker::report_no_room(const Claim& claim) {
  const auto text = is_for_us(claim) ? no_room(claim) : std::nullopt;
  if (!text) {
    told_.erase(claim.key());
    return;
  }
  const auto now = parts_.clock.now();
  Told& told = told_.try_emplace(claim.key(), Told{.since = now, .text = {}}).first->second;
  if (now - told.since < parts_.options.no_room_after) return;
  const bool changed = told.text != *text;
  if (!changed && now < told.next) return;
  if (changed) told.times = 0;
  told.text = *text;
  told.next = now + kube::backoff_delay(kRepeat, told.times++);
  parts_.work.no_room_told.with({}).add();
  parts_.events.record(
      {reference_to(claim), kube::EventType::kWarning, "ProvisioningFailed", *text});
}

// A claim that no node could serve is for the node daemon to refuse, if one gets it: the scheduler
// sends no claim where it is told of no room, and one that does not wait for a pod is sent nowhere;
// then nobody else would say why.
std::optional<std::string> PendingClaimWorker::no_room(const Claim& claim) const {
  const StorageClass* storage_class = parts_.classes.get(claim.storage_class);
  Claim marked = claim;
  marked.marked = true;
  const ClaimPlan plan = plan_claim(marked, storage_class, false, claim.selected_node);
  const bool immediate = storage_class != nullptr && storage_class->immediate;
  if (const auto* refusal = std::get_if<Refuse>(&plan))
    return claim.marked && !immediate ? std::nullopt : std::optional(refusal->why);
  const auto* order = std::get_if<Order>(&plan);
  if (order == nullptr) return std::nullopt;
  if (immediate && parts_.options.immediate == ImmediateBinding::kOff)
    return concat("StorageClass ", storage_class->name,
                  " has volumeBindingMode Immediate, which this installation has switched off "
                  "(--immediate=off); use a class with WaitForFirstConsumer");
  std::vector<NodeView> nodes;
  parts_.nodes.for_each([&](const std::string&, const Node& node) {
    if (is_allowed(*storage_class, node)) nodes.push_back(parts_.view_of(node));
  });
  return no_room_anywhere(nodes, {promise_of(*order), order->parameters.disk_per_ram});
}

}  // namespace flexlocal::provisioner
