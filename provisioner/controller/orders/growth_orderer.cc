#include "provisioner/controller/orders/growth_orderer.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/order_plan.h"
#include "provisioner/controller/view/node_silence.h"
#include "provisioner/objects/growth_status.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

namespace {

constexpr std::string_view kFailed = "VolumeResizeFailed";
// Of a node that does not answer: what keeps it may be another thing by then.
constexpr auto kRequeueAfter = std::chrono::minutes(1);

// What the node says is in the way; empty: nothing.
std::string trouble_of(const VolumeCopy& copy) {
  const CopyCondition* const as_ordered = find_condition(copy.status, kAsOrdered);
  return as_ordered == nullptr || as_ordered->holds ? std::string() : as_ordered->message;
}

// Why its growth cannot be ordered; empty: it can. `copy`: nullptr when none is understood.
std::string cannot_be_ordered(const CopyIndex& index, const Volume& volume, const KnownCopy& copy) {
  const std::string name = copy_name(volume.name, volume.copy);
  if (copy != nullptr)
    return copy->order->desired == DesiredState::kServing
               ? std::string()
               : concat("spec.desiredState of VolumeCopy ", name, " is not Serving");
  const bool is_there = std::ranges::any_of(
      index.of_volume(volume.name), [&](const KnownCopy& known) { return known->name == name; });
  return is_there ? concat("the order in VolumeCopy ", name, " is not understood")
                  : concat("VolumeCopy ", name, " is missing");
}

}  // namespace

bool GrowthOrderer::concerns(const Claim& claim) const {
  const auto volume = view_.volumes.get(claim.volume_name);
  return volume != nullptr && !std::holds_alternative<LeaveAlone>(plan_growth(
                                  claim, volume.get(), volume->node, desk_.cluster_id()));
}

Task<Requeue> GrowthOrderer::work(const std::string& key) {
  const auto known = view_.claims.get(key);
  const auto named = known == nullptr ? nullptr : view_.volumes.get(known->volume_name);
  if (known == nullptr || named == nullptr) co_return std::nullopt;
  const Claim claim = *known;  // the stores may change while we wait
  const Volume volume = *named;
  auto requeue = co_await plan(claim, volume);
  co_return requeue;
}

Task<Requeue> GrowthOrderer::plan(const Claim& claim, const Volume& volume) {
  const GrowthPlan plan = plan_growth(claim, &volume, volume.node, desk_.cluster_id());
  if (const auto* refusal = std::get_if<Refuse>(&plan)) {
    events_.record(claim, kube::EventType::kWarning, kFailed, refusal->why);
    co_return Error(ErrorCode::kInvalid, refusal->why);
  }
  if (const auto* left = std::get_if<Settle>(&plan)) {
    const Settle what = *left;
    auto settled = co_await settle(claim, volume, what);
    if (!settled) co_return settled.error();
    co_return std::nullopt;
  }
  const auto* const growth = std::get_if<Growth>(&plan);
  if (growth == nullptr) co_return std::nullopt;
  auto carried = co_await carry_out(claim, volume, *growth);
  co_return carried;
}

Task<Requeue> GrowthOrderer::carry_out(const Claim& claim, const Volume& volume,
                                       const Growth& growth) {
  const auto copy = view_.copies.find(volume.name, volume.copy);
  const Node* const node = view_.nodes.get(volume.node);
  const Bytes rounded = node == nullptr
                            ? growth.asked
                            : size_on(view_.nodes.view_of(*node), promise_of(growth, growth.asked));
  const GrowthOrder order = plan_growth_order(growth, rounded, copy.get());
  if (order.step != GrowthStep::kWait) events_.forget(claim.key());
  Status done;
  switch (order.step) {
    case GrowthStep::kWait:
      co_return await_answer(claim, volume, copy);
    case GrowthStep::kRaise: {
      const VolumeCopy known = *copy;
      done = co_await raise(known, order.size);
      break;
    }
    case GrowthStep::kRefused:
      done = co_await fail(claim, volume, growth, order);
      break;
    case GrowthStep::kGrown:
      done = co_await conclude(claim, volume, order);
      break;
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

// Whoever waits is told why.
RequeueAfter GrowthOrderer::await_answer(const Claim& claim, const Volume& volume,
                                         const KnownCopy& copy) {
  const auto unanswered = copy == nullptr ? std::nullopt : view_.copies.unanswered_for(*copy);
  if (unanswered && *unanswered < kOrderTimeout) return kOrderTimeout - *unanswered;
  std::string why = cannot_be_ordered(view_.copies, volume, copy);
  if (why.empty()) why = silence_of(view_.nodes, view_.copies, *copy);
  if (why.empty()) why = trouble_of(*copy);
  if (!why.empty() && events_.is_news(claim.key(), kFailed, why))
    events_.record(claim, kube::EventType::kWarning, kFailed,
                   concat("volume ", volume.name, " does not grow yet: ", why));
  return unanswered ? RequeueAfter(kRequeueAfter) : std::nullopt;
}

Task<Status> GrowthOrderer::raise(const VolumeCopy& copy, Bytes size) {
  CopyOrder order = *copy.order;
  order.volume.size = size;
  auto changed = co_await desk_.change(copy, order);
  co_return changed;
}

Task<Status> GrowthOrderer::conclude(const Claim& claim, const Volume& volume,
                                     const GrowthOrder& order) {
  if (volume.capacity != format_quantity(order.size)) {
    auto told = co_await patch_capacity(volume, order.size);
    if (!told) co_return told;
  }
  const std::string allocated = allocated_for(claim, order.size, order.as_requested);
  if (order.awaits_mount && says_pending(claim, allocated)) co_return Status();
  const std::string body = order.awaits_mount ? pending_body(claim, allocated, clock_.wall())
                                              : complete_body(claim, order.size, allocated);
  auto written = co_await write_status(claim, body);
  if (!written) co_return written;
  const std::string what = concat("volume ", volume.name);
  if (!order.awaits_mount) count_grown(claim, volume);
  if (order.awaits_mount)
    events_.record(claim, kube::EventType::kNormal, "FileSystemResizeRequired",
                   concat(what, " offers ", to_string(order.size),
                          "; its file system grows when a pod mounts it next"));
  else
    events_.record(claim, kube::EventType::kNormal, "FileSystemResizeSuccessful",
                   concat(what, " and its file system have ", to_string(order.size), " on node ",
                          volume.node));
  co_return Status();
}

// The order stays, and so its node tries again.
Task<Status> GrowthOrderer::fail(const Claim& claim, const Volume& volume, const Growth& growth,
                                 const GrowthOrder& order) {
  counters_.failed({claim.storage_class});
  events_.record(
      claim, kube::EventType::kWarning, kFailed,
      concat("volume ", volume.name, " does not grow from ", to_string(order.size), " to ",
             to_string(growth.asked), " on node ", volume.node, ": ", order.why,
             "; it keeps what it has, and its node tries again when something there has changed"));
  // An expand controller that is at work writes more in a moment, which brings the claim here
  // again.
  if (claim.resize_status == kControllerResizeInProgress) co_return Status();
  const auto capacity = parse_quantity(volume.capacity);
  if (!capacity || *capacity > order.size) {
    auto corrected = co_await patch_capacity(volume, order.size);
    if (!corrected) co_return corrected;
  }
  const std::string allocated = allocated_for(claim, order.size, false);
  if (says_failed(claim, allocated, order.size)) co_return Status();
  const std::string body = failed_body(claim, allocated, order.size, clock_.wall());
  auto written = co_await write_status(claim, body);
  co_return written;
}

Task<Status> GrowthOrderer::settle(const Claim& claim, const Volume& volume, const Settle& settle) {
  if (settle.capacity_differs) {
    auto patched = co_await patch_capacity(volume, settle.size);
    if (!patched) co_return patched;
  }
  if (!settle.status_differs) co_return Status();
  const std::string body =
      complete_body(claim, settle.size, allocated_for(claim, settle.size, false));
  auto written = co_await write_status(claim, body);
  co_return written;
}

Task<Status> GrowthOrderer::patch_capacity(const Volume& volume, Bytes size) {
  const std::string path = volume_path(volume.name);
  const std::string body = volume_growth_patch(volume, size);
  auto answer = co_await api_.merge_patch(path, body);
  if (!answer) co_return answer.error().context("telling the PersistentVolume its capacity");
  view_.volumes.put(answer->root());
  co_return Status();
}

// A claim that is gone needs no status.
Task<Status> GrowthOrderer::write_status(const Claim& claim, const std::string& body) {
  const std::string path = claim_status_path(claim);
  auto answer = co_await api_.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("writing the claim's status");
  view_.claims.put(answer->root());
  co_return Status();
}

void GrowthOrderer::count_grown(const Claim& claim, const Volume& volume) {
  if (const auto copy = view_.copies.find(volume.name, volume.copy))
    counters_.succeeded({claim.storage_class}, view_.copies.ordered_for(*copy));
}

}  // namespace flexlocal::provisioner
