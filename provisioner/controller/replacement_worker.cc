#include "provisioner/controller/replacement_worker.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/serving_copy.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/claim_pods.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Of what waits for nodes, or for a person.
constexpr auto kRequeueAfter = std::chrono::seconds(10);
constexpr auto kSoon = std::chrono::seconds(1);
// Of an event's text.
constexpr std::size_t kMostPods = 5;
constexpr std::string_view kGivenUp = "PromiseGivenUp";

}  // namespace

// Where each node's daemon gives its own orders, nobody could give one elsewhere: agents give
// nothing up there.
bool ReplacementWorker::concerns(const Claim& claim) const {
  return view_.scope == Scope::kAllNodes && !claim.volume_name.empty() &&
         plan(claim).action != ReplacementAction::kNone;
}

ReplacementPlan ReplacementWorker::plan(const Claim& claim) const {
  const auto volume = view_.volumes.get(claim.volume_name);
  ReplacementSituation now{.claim = claim,
                           .volume = volume.get(),
                           .copies = view_.copies.of_volume(claim.volume_name),
                           .in_doubt = roll_.leaves_doubt()};
  now.unanswered_for = view_.copies.unanswered_for(now.copies);
  return plan_replacement(now);
}

Task<Requeue> ReplacementWorker::work(const Claim& claim) {
  const ReplacementPlan planned = plan(claim);
  auto carried = co_await carry_out(claim, planned);
  co_return carried;
}

Task<Requeue> ReplacementWorker::carry_out(const Claim& claim, const ReplacementPlan& plan) {
  Status done;
  switch (plan.action) {
    case ReplacementAction::kNone:
      break;
    case ReplacementAction::kWait: {
      const auto asked = view_.copies.unanswered_for(*plan.copy);
      co_return asked&&* asked < kOrderTimeout ? kOrderTimeout - *asked
                                               : std::chrono::nanoseconds(kRequeueAfter);
    }
    case ReplacementAction::kGiveUp: {
      const VolumeCopy copy = *plan.copy;
      done = co_await give_up(claim, copy, plan.why);
      break;
    }
    case ReplacementAction::kGiveOrder: {
      const VolumeCopy copy = *plan.copy;
      auto given = co_await give_order(claim, copy);
      co_return given;
    }
    case ReplacementAction::kWithdraw: {
      const VolumeCopy copy = *plan.copy;
      done = co_await withdraw(claim, copy, plan.why);
      break;
    }
    case ReplacementAction::kReplace: {
      const VolumeCopy copy = *plan.copy;
      const std::string cut = desk_.cut_of(copy.name);
      if (cut.empty())
        done = co_await replace(claim, copy);
      else
        done = co_await withdraw(claim, copy, cut);
      break;
    }
    case ReplacementAction::kReport:
      report(claim, "VolumeLost", plan.why);
      co_return kRequeueAfter;
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

Task<Status> ReplacementWorker::give_up(const Claim& claim, const VolumeCopy& copy,
                                        const std::string& why) {
  const std::string node = copy.order->node;
  auto given_up = co_await desk_.give_up(copy);
  if (!given_up) co_return given_up;
  chooser_.refused(claim, node);
  work_.promises_given_up.with({}).add();
  log_.warning("a promise was given up, and the volume gets another node",
               {{"namespace", claim.namespace_name},
                {"claim", claim.name},
                {"copy", copy.name},
                {"node", node},
                {"why", why}});
  report(claim, kGivenUp, concat(why, ". No pod has had it, and it gets another node"));
  co_return Status();
}

Task<Requeue> ReplacementWorker::give_order(const Claim& claim, const VolumeCopy& given_up) {
  auto confirmed = co_await roll_.confirm();
  if (!confirmed) co_return confirmed.error();
  if (!roll_.is_over()) co_return kSoon;
  if (const auto found = view_.unordered().of_claim(claim)) {
    report(claim, "VolumeRetained",
           concat("node ", found->node.name,
                  " has a volume of this claim that no VolumeCopy names: "
                  "none is made beside it"));
    co_return kRequeueAfter;
  }
  const CopyOrder& before = *given_up.order;
  const WantedVolume wanted{promise_of(before.volume), before.disk_per_ram};
  const std::string name = chooser_.choose(claim, before.volume.name.text(), wanted);
  const Node* const node = name.empty() ? nullptr : view_.nodes.get(name);
  if (node == nullptr) {
    report(claim, kGivenUp,
           concat("node ", before.node, " could not make volume ", before.volume.name.text(),
                  ", and no other node has room for it now; it is looked for one"));
    co_return kRequeueAfter;
  }
  auto order = order_like(before, claim, *node);
  if (!order) co_return order.error();
  const auto begun = chooser_.begin_order(*order);
  auto given = co_await desk_.give(*order);
  chooser_.end_order(begun);
  if (!given && given.error().code() == ErrorCode::kInvalid)
    report(claim, kGivenUp, given.error().message());
  if (!given) co_return given.error();
  log_.info("copy ordered in place of one that was given up",
            {{"namespace", claim.namespace_name},
             {"claim", claim.name},
             {"volume", order->volume.name.text()},
             {"node", name}});
  co_return std::chrono::nanoseconds(kOrderTimeout);
}

// What the claim and its PersistentVolume say by now, which may have changed since the first order.
Result<CopyOrder> ReplacementWorker::order_like(const CopyOrder& given_up, const Claim& claim,
                                                const Node& node) const {
  const NodeIdentity identity = identity_of(node);
  if (identity.hostname.empty() || identity.uid.empty())
    return Error(ErrorCode::kInvalid,
                 concat("Node ", node.name, " has no uid or no label ", kHostnameLabel));
  auto id = draw_copy_id();
  if (!id) return id.error();
  CopyOrder order = given_up;
  order.volume.copy = std::move(*id);
  order.volume.size = size_on(view_.nodes.view_of(node), promise_of(given_up.volume));
  order.node = identity.name;
  order.node_uid = identity.uid;
  order.hostname = identity.hostname;
  order.claim_name = claim.name;
  order.desired = DesiredState::kServing;
  if (const auto volume = view_.volumes.get(order.volume.name.text()))
    order.reclaim_policy = policy_of_order(*volume);
  return order;
}

Task<Status> ReplacementWorker::withdraw(const Claim& claim, const VolumeCopy& copy,
                                         const std::string& why) {
  const std::string node = copy.order->node;
  auto ordered = co_await desk_.order(copy, DesiredState::kWithdrawn);
  if (!ordered) co_return ordered;
  chooser_.refused(claim, node);
  log_.info("order withdrawn", {{"namespace", claim.namespace_name},
                                {"claim", claim.name},
                                {"copy", copy.name},
                                {"node", node},
                                {"why", why}});
  if (!why.empty()) report(claim, kGivenUp, concat(why, "; another node is looked for"));
  co_return Status();
}

// The source of a PersistentVolume can never be changed. Until the next one is there the claim is
// Lost: for the time of a request.
Task<Status> ReplacementWorker::replace(const Claim& claim, const VolumeCopy& copy) {
  const auto known = view_.volumes.get(claim.volume_name);
  const std::string from = known == nullptr ? std::string() : known->node;
  VolumeCopy served = copy;
  if (known != nullptr) {
    const Volume volume = *known;
    served.order->reclaim_policy = volume.reclaim_policy;
    auto ended = co_await end_volume(volume);
    if (!ended) co_return ended;
  }
  auto bound = co_await binder_.bind(claim, served);
  if (!bound) co_return bound;
  const std::string to = served.order->node;
  log_.warning("volume replaced", {{"namespace", claim.namespace_name},
                                   {"claim", claim.name},
                                   {"volume", claim.volume_name},
                                   {"node", to}});
  co_await record_replaced(claim, from, to);
  auto touched = co_await touch(claim);
  co_return touched;
}

// First deleted, then let go: kube-controller-manager protects it anew until it is being deleted.
Task<Status> ReplacementWorker::end_volume(const Volume& known) {
  const std::string path = volume_path(known.name);
  Volume volume = known;
  if (!volume.deleting) {
    const kube::Preconditions same{.uid = volume.uid, .resource_version = volume.resource_version};
    const auto deleted = co_await api_.delete_object(path, same);
    if (!deleted && deleted.error().code() == ErrorCode::kNotFound) co_return Status();
    if (!deleted) co_return deleted.error().context("deleting the PersistentVolume");
    auto latest = decode_volume(deleted->root());
    if (!latest || !latest->deleting) co_return Status();
    volume = std::move(*latest);
  }
  const std::string body = patch_without_protection(volume);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() != ErrorCode::kNotFound)
    co_return answer.error().context("letting the PersistentVolume go");
  co_return Status();
}

// kube-controller-manager looks at a Lost claim when that changes, and else each 15 s; and which
// node was chosen for it holds no more. Source: syncBoundClaim in
// pkg/controller/volume/persistentvolume/pv_controller.go.
Task<Status> ReplacementWorker::touch(const Claim& claim) {
  const std::string path = claim_path(claim);
  const auto found = co_await api_.get(path);
  if (!found && found.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!found) co_return found.error().context("reading the claim of a volume that was replaced");
  const auto latest = decode_claim(found->root());
  if (!latest || latest->uid != claim.uid || latest->selected_node.empty()) co_return Status();
  const std::string body = patch_without_selected_node(*latest);
  const auto answer = co_await api_.merge_patch(path, body);
  // Whoever was faster has touched it.
  const bool touched = answer || answer.error().code() == ErrorCode::kConflict ||
                       answer.error().code() == ErrorCode::kNotFound;
  co_return touched ? Status() : answer.error().context("taking back which node was chosen");
}

// They wait there for a volume that never comes, and the scheduler places no pod twice.
Task<void> ReplacementWorker::record_replaced(const Claim& claim, const std::string& from,
                                              const std::string& to) {
  std::string pods = "pods that use the claim";
  if (!from.empty()) {
    const auto names =
        co_await pods_on_node(api_, claim.namespace_name, claim.name, from, kMostPods);
    if (names && !names->empty()) pods = concat("pod ", join(*names, ", "));
  }
  std::string text = concat("volume ", claim.volume_name, " is on node ", to, " now; delete ", pods,
                            " if sent elsewhere before: there they wait for ever");
  events_.record(claim, kube::EventType::kWarning, "VolumeReplaced", std::move(text));
}

void ReplacementWorker::report(const Claim& claim, std::string_view reason,
                               const std::string& message) {
  events_.report(claim, kube::EventType::kWarning, reason, message);
}

}  // namespace flexlocal::provisioner
