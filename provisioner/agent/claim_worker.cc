#include "provisioner/agent/claim_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/claim_order.h"
#include "provisioner/controller/claims/selected_node_plan.h"
#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/pod_memory.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// An answer that can only mean that nothing was written.
bool certainly_refused(ErrorCode code) {
  return code == ErrorCode::kInvalid || code == ErrorCode::kDenied;
}

// Whether what was decided for `then` is still what `now` asks for.
bool asks_the_same(const Claim& now, const Claim& then) {
  return now.uid == then.uid && now.deleting == then.deleting &&
         now.selected_node == then.selected_node && now.volume_name == then.volume_name &&
         now.requested == then.requested;
}

// A claim has one copy as yet, so its uid names that: a repeated try gives the same id, and the
// promise of the try before is its own.
std::string copy_of(const Claim& claim) {
  constexpr std::size_t kDigits = 16;
  std::string digits = claim.uid;
  std::erase(digits, '-');
  return digits.substr(0, kDigits);
}

// A volume whose order cannot be read would never be removed.
Status check_readable(const CopyOrder& order) {
  if (order.node_uid.empty() || order.hostname.empty())
    return Error(
        ErrorCode::kInvalid,
        concat("no volume is made on node ", order.node, ": its Node had no ",
               order.node_uid.empty() ? std::string("uid") : concat("label ", kHostnameLabel),
               " when this daemon read it at its start; restart the daemon once it has"));
  const auto read = parse_order_text(order_text(order));
  return read ? Status()
              : read.error().context("no volume is made, for its order could not be read again");
}

}  // namespace

ClaimWorker::ClaimWorker(NodeParts& parts) : parts_(parts) {
  parts_.volumes.on_change([this](const std::string& name) { look_for_strange(name); });
}

Task<Status> ClaimWorker::work(const std::string& key) {
  const auto known = parts_.claims.get(key);
  if (known == nullptr) {
    parts_.ledger.release(key);
    co_return Status();
  }
  const Claim claim = *known;  // the store may change while we wait
  const StorageClass* class_known = parts_.classes.get(claim.storage_class);
  ClaimPlan plan = plan_claim(claim, class_known, has_volume(claim), parts_.node.name);
  if (!std::holds_alternative<Order>(plan)) parts_.ledger.release(key);
  if (std::holds_alternative<LeaveAlone>(plan)) co_return Status();
  if (const auto* refusal = std::get_if<Refuse>(&plan)) {
    parts_.work.provision.failed({claim.storage_class, ""});
    say(claim, kube::EventType::kWarning, "ProvisioningFailed", refusal->why);
    co_return Error(ErrorCode::kInvalid, refusal->why);
  }
  const StorageClass storage_class = *class_known;
  Order& order = std::get<Order>(plan);
  const auto began = parts_.clock.now();
  auto provisioned = co_await take_size(claim, order);
  if (provisioned)
    provisioned = co_await provision(claim, storage_class, order);
  else
    provisioned = fail_if_marked(claim, provisioned.error());
  count(claim, order, provisioned, began);
  co_return provisioned;
}

// What the class leaves to the memory of the pod.
Task<Status> ClaimWorker::take_size(const Claim& claim, Order& order) {
  const ClassParameters& parameters = order.parameters;
  if (parameters.size_from != SizeFrom::kPodMemory) co_return Status();
  const Ratio ratio = parameters.disk_per_ram.value_or(parts_.budget.disk_per_ram);
  const auto size =
      co_await disk_for_first_pod(parts_.api, claim.namespace_name, claim.name, ratio);
  if (!size) co_return size.error();
  order.requested = std::max(order.requested, *size);
  co_return Status();
}

// Whatever was reserved by a try whose answer was lost stays so: that volume may be there.
Status ClaimWorker::fail_if_marked(const Claim& claim, const Error& why) {
  if (!claim.marked) return {};
  if (why.code() != ErrorCode::kCancelled)
    say(claim, kube::EventType::kWarning, "ProvisioningFailed", why.message());
  return why;
}

// Before the claim is marked, nobody has looked for a volume that would do.
bool ClaimWorker::has_volume(const Claim& claim) const {
  if (parts_.volumes.get(concat("pvc-", claim.uid)) != nullptr) return true;
  return !claim.marked && std::any_of(strange_.begin(), strange_.end(), [&](const auto& name) {
    const auto volume = parts_.volumes.get(name);
    return volume != nullptr && is_meant_for(*volume, claim);
  });
}

void ClaimWorker::look_for_strange(const std::string& name) {
  const auto volume = parts_.volumes.get(name);
  if (volume != nullptr && name != concat("pvc-", volume->claim_uid))
    strange_.insert(name);
  else
    strange_.erase(name);
}

// A claim that was handed back is one that could not be provisioned; a conflict is neither, and one
// that waits for its mark is not decided yet.
void ClaimWorker::count(const Claim& claim, const Order& order, const Status& provisioned,
                        Clock::Instant began) {
  WorkCounters& counters = parts_.work.provision;
  if (provisioned && parts_.volumes.get(order.name.text()) != nullptr)
    counters.succeeded({claim.storage_class, ""}, parts_.clock.now() - began);
  else if (provisioned ? claim.marked
                       : provisioned.error().code() != ErrorCode::kConflict &&
                             provisioned.error().code() != ErrorCode::kCancelled)
    counters.failed({claim.storage_class, ""});
}

// kNoSpace and kNotFound: not here. Two looks: what others freed in the last seconds counts.
Task<Result<Bytes>> ClaimWorker::find_room(const Claim& claim, const Order& order) {
  Result<Bytes> size = Error(ErrorCode::kUnavailable, "not looked yet");
  const Promise wanted = promise_of(order);
  for (const bool anew : {false, true}) {
    auto refreshed = co_await parts_.ledger.refresh(anew);
    if (!refreshed) co_return refreshed.error().context("looking at this node's disks");
    const auto room = parts_.ledger.room(wanted, claim.key());
    size = room ? fit(order, parts_.node.name, *room) : room.error();
    if (size)
      if (auto kept = keep_in_budget(claim, order, *size); !kept) size = kept.error();
    if (size) break;
  }
  co_return size;
}

Status ClaimWorker::keep_in_budget(const Claim& claim, const Order& order, Bytes size) const {
  const ClassParameters& parameters = order.parameters;
  if (!parts_.budget.limit(parameters.disk_per_ram)) return {};
  const Bytes given = parts_.ledger.given(parameters.pool, order.name.text(), claim.key());
  return keep_budget(order, parts_.node.name, {parts_.budget, parameters.disk_per_ram, given},
                     size);
}

Task<Status> ClaimWorker::provision(const Claim& claim, const StorageClass& storage_class,
                                    const Order& order) {
  auto size = co_await find_room(claim, order);
  if (!size) {
    const bool elsewhere =
        size.error().code() == ErrorCode::kNoSpace || size.error().code() == ErrorCode::kNotFound;
    if (!elsewhere) co_return size.error();
    parts_.ledger.release(claim.key());
    if (!claim.marked) co_return Status();
    auto handed = co_await hand_back(claim, size.error().message());
    co_return handed;
  }
  // The disks may have taken seconds to answer. A claim that has changed meanwhile comes again by
  // itself: whatever changed it has put it into the queue.
  const auto now = parts_.claims.get(claim.key());
  if (now == nullptr || !asks_the_same(*now, claim)) {
    parts_.ledger.release(claim.key());
    co_return Status();
  }
  // Nothing may be awaited between the look at the room and this: see Ledger.
  Order sized = order;
  sized.requested = *size;
  const CopyOrder copy =
      order_for_claim(sized, claim, storage_class, parts_.node, parts_.cluster_id, copy_of(claim));
  if (auto readable = check_readable(copy); !readable)
    co_return fail_if_marked(claim, readable.error());
  parts_.ledger.reserve(claim.key(), copy.volume);
  auto created = co_await create(claim, copy);
  co_return created;
}

Task<Status> ClaimWorker::create(const Claim& claim, const CopyOrder& order) {
  const engine::VolumeSpec& spec = order.volume;
  // Before the object: a pod may be here the moment that it is.
  auto promised = co_await parts_.storage.promise(spec);
  if (!promised) {
    parts_.ledger.release(claim.key());
    const Error error = promised.error().context("promising the volume on this node");
    say(claim, kube::EventType::kWarning, "ProvisioningFailed", error.message());
    co_return error;
  }
  const std::string path = volumes_path();
  const std::string body = volume_json(order, claim.access_modes);
  auto answer = co_await parts_.api.create(path, body);
  if (!answer && answer.error().code() == ErrorCode::kExists) {
    auto adopted = co_await adopt(claim, spec);
    co_return adopted;
  }
  if (!answer) {
    if (certainly_refused(answer.error().code())) co_await withdraw_unless_created(claim, spec);
    const Error error = answer.error().context("creating the PersistentVolume");
    say(claim, kube::EventType::kWarning, "ProvisioningFailed", error.message());
    co_return error;
  }
  parts_.volumes.put(answer->root());
  parts_.ledger.release(claim.key());
  parts_.log.info("volume provisioned", {{"namespace", claim.namespace_name},
                                         {"claim", claim.name},
                                         {"volume", spec.name.text()},
                                         {"pool", spec.pool},
                                         {"backend", engine::to_string(spec.backend)},
                                         {"size", to_string(spec.size)}});
  say(claim, kube::EventType::kNormal, "ProvisioningSucceeded",
      concat("volume ", spec.name.text(), " of ", to_string(spec.size), " in pool \"", spec.pool,
             "\" on node ", parts_.node.name));
  co_return Status();
}

// A try before this one, whose answer was lost, may have made the PersistentVolume.
Task<void> ClaimWorker::withdraw_unless_created(const Claim& claim,
                                                const engine::VolumeSpec& spec) {
  const std::string path = volume_path(spec.name.text());
  auto answer = co_await parts_.api.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound)
    co_await withdraw_promise(claim, spec);
}

Task<void> ClaimWorker::withdraw_promise(const Claim& claim, const engine::VolumeSpec& spec) {
  parts_.ledger.release(claim.key());
  const engine::PromisedVolume promised{spec.name, spec.cluster_id};
  auto withdrawn = co_await parts_.storage.withdraw(promised);
  if (!withdrawn)
    parts_.log.warning("the promise of a volume that was not made stays on this node",
                       {{"volume", spec.name.text()}, {"error", withdrawn.error().message()}});
}

// There already: most often an earlier try of ours whose answer was lost. Whether it is, is asked.
Task<Status> ClaimWorker::adopt(const Claim& claim, const engine::VolumeSpec& spec) {
  const std::string path = volume_path(spec.name.text());
  auto answer = co_await parts_.api.get(path);
  if (!answer) co_return answer.error().context("reading the PersistentVolume that exists already");
  // Ours or not, from here on it is known what there is; nothing is awaited before it is taken in.
  parts_.ledger.release(claim.key());
  const auto volume = decode_volume(answer->root());
  if (volume && volume->claim_uid == claim.uid && volume->node == parts_.node.name &&
      !volume->deleting) {
    // It may be of a try before the class was another one: the record says what the object says.
    const auto stated = spec_of(*volume);
    Status same;
    if (stated && !(*stated == spec)) same = co_await parts_.storage.promise(*stated);
    if (same) parts_.volumes.put(answer->root());
    co_return same;
  }
  co_await withdraw_promise(claim, spec);
  const Error error(ErrorCode::kExists, concat("PersistentVolume ", spec.name.text(),
                                               " exists already and is not this "
                                               "claim's on node ",
                                               parts_.node.name));
  say(claim, kube::EventType::kWarning, "ProvisioningFailed", error.message());
  co_return error;
}

// Without selected-node the scheduler's PreBind fails at once and it looks again; with it, only
// this node would be considered, for ten minutes (pkg/controller/volume/scheduling).
Task<Status> ClaimWorker::hand_back(const Claim& claim, const std::string& why) {
  say(claim, kube::EventType::kWarning, "ProvisioningFailed", why);
  const std::string body = patch_without_selected_node(claim);
  const std::string path = claim_path(claim);
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("handing the claim back");
  parts_.log.info("claim handed back", {{"namespace", claim.namespace_name},
                                        {"claim", claim.name},
                                        {"volume", concat("pvc-", claim.uid)},
                                        {"why", why}});
  co_return Status();
}

void ClaimWorker::say(const Claim& claim, kube::EventType type, std::string_view reason,
                      const std::string& message) {
  parts_.events.record({reference_to(claim), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
