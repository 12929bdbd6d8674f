#include "provisioner/controller/orders/order_desk.h"

#include "flexvolume/base/hex.h"
#include "flexvolume/base/random.h"
#include "flexvolume/base/text.h"
#include "provisioner/objects/kept.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kIdBytes = 8;
constexpr std::string_view kNoMark;
constexpr std::string_view kDesiredField = "desiredState";
constexpr std::string_view kOlderDefinition =
    "the API server's definition of VolumeCopy is older than this version of flexlocal: apply the "
    "one that came with it";

// An API server that drops a part of an order would have another one carried out.
Status check_order(const std::string& sent, JsonView kept) {
  const auto document = JsonDocument::parse(sent);
  if (!document) return document.error();
  return check_kept(document->root(), kept);
}

}  // namespace

Result<std::string> draw_copy_id() {
  const auto bytes = random_bytes(kIdBytes);
  if (!bytes) return bytes.error();
  return to_hex(*bytes);
}

Task<Status> OrderDesk::give(const CopyOrder& ordered, const std::string& holds) {
  CopyOrder order = ordered;
  order.term = term_;
  if (order.origin != Origin::kNew) {
    auto kept = co_await try_and_create(order, holds);
    co_return kept;
  }
  const auto entry = under_way_.add(order);
  auto given = co_await try_and_create(order, holds);
  under_way_.remove(entry);
  co_return given;
}

Task<Status> OrderDesk::try_and_create(const CopyOrder& order, const std::string& holds) {
  const bool is_new = order.origin == Origin::kNew;
  if (!is_new || !keeps_orders_) {
    auto tried = co_await try_order(order, holds);
    if (!tried) co_return tried;
  }
  const std::string path = copies_path();
  const std::string body = copy_json(order, holds);
  auto answer = co_await api_.create(path, body);
  if (!answer) co_return answer.error().context("ordering a copy of the volume");
  const std::string name = copy_name(order);
  const Status kept = store(body, answer->root());
  if (!kept && is_new) cut_.insert_or_assign(name, kept.error().message());
  if (!kept) keeps_orders_ = false;
  co_return kept;
}

// One of a new copy with every field is tried once a term, for all of them; one of a copy that is
// there is never withdrawn, and is tried each time.
Task<Status> OrderDesk::try_order(const CopyOrder& order, const std::string& holds) {
  const bool is_new = order.origin == Origin::kNew;
  const std::string path = concat(copies_path(), "?dryRun=All");
  const std::string body = copy_json(is_new ? with_every_field(order) : order, holds);
  auto answer = co_await api_.create(path, body);
  // What is wrong with it the order itself is told as well, but for a state that it will have
  // later. Kubernetes up to 1.21 may have admission webhooks that take no dry run.
  if (!answer && answer.error().code() == ErrorCode::kInvalid) {
    const Error& error = answer.error();
    const bool is_older = is_new && error.message().find(kDesiredField) != std::string::npos;
    if (is_older) co_return error.context(kOlderDefinition);
    co_return Status();
  }
  if (!answer) co_return answer.error().context("trying whether a copy can be ordered");
  Status kept = check_order(body, answer->root());
  if (kept && is_new) keeps_orders_ = true;
  co_return kept;
}

std::string OrderDesk::cut_of(const std::string& copy) const {
  const auto found = cut_.find(copy);
  return found == cut_.end() ? std::string() : found->second;
}

Task<Status> OrderDesk::change(const VolumeCopy& copy, const CopyOrder& ordered) {
  CopyOrder order = ordered;
  order.term = term_;
  auto sent = co_await send(copy, order, kNoMark);
  co_return sent;
}

Task<Status> OrderDesk::order(const VolumeCopy& copy, DesiredState desired) {
  CopyOrder order = *copy.order;
  order.desired = desired;
  auto changed = co_await change(copy, order);
  co_return changed;
}

Task<Status> OrderDesk::withdraw(const VolumeCopy& copy, const Claim& claim,
                                 const std::string& why) {
  const std::string node = copy.order->node;
  auto ordered = co_await order(copy, DesiredState::kWithdrawn);
  if (!ordered) co_return ordered;
  log_.info("order withdrawn", {{"namespace", claim.namespace_name},
                                {"claim", claim.name},
                                {"copy", copy.name},
                                {"node", node},
                                {"why", why}});
  co_return ordered;
}

Task<Status> OrderDesk::withdraw_unclaimed(const VolumeCopy& copy) {
  const CopyOrder before = *copy.order;
  auto ordered = co_await order(copy, DesiredState::kWithdrawn);
  if (!ordered) co_return ordered;
  log_.info("order withdrawn, for its claim is gone", {{"namespace", before.volume.claim_namespace},
                                                       {"claim", before.claim_name},
                                                       {"copy", copy.name},
                                                       {"node", before.node}});
  co_return ordered;
}

// What is gone already is marked alone, so that its node need not answer again.
Task<Status> OrderDesk::give_up(const VolumeCopy& copy) {
  CopyOrder order = *copy.order;
  if (!is_gone_unused(copy)) {
    order.desired = DesiredState::kWithdrawn;
    order.term = term_;
  }
  auto sent = co_await send(copy, order, kGivenUpAnnotation);
  co_return sent;
}

Task<Status> OrderDesk::send(const VolumeCopy& copy, const CopyOrder& order,
                             std::string_view mark) {
  const std::string body = order_patch(copy, order, mark);
  const std::string path = copy_path(copy.name);
  auto answer = co_await api_.merge_patch(path, body);
  if (!answer) co_return answer.error().context("changing the order of a copy");
  co_return store(body, answer->root());
}

Status OrderDesk::store(const std::string& sent, JsonView kept) {
  copies_.put(kept);
  return check_order(sent, kept);
}

Task<Status> OrderDesk::remove(const VolumeCopy& copy) {
  const std::string path = copy_path(copy.name);
  const kube::Preconditions same{.uid = copy.uid, .resource_version = copy.resource_version};
  auto answer = co_await api_.delete_object(path, same);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("deleting the order of a copy that is gone");
  co_return Status();
}

}  // namespace flexlocal::provisioner
