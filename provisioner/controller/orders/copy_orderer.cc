#include "provisioner/controller/orders/copy_orderer.h"

#include "provisioner/controller/claims/serving_copy.h"

namespace flexlocal::provisioner {
namespace {

// What waits for the roll call.
constexpr auto kSoon = std::chrono::seconds(1);

}  // namespace

Task<Requeue> CopyOrderer::order(const Claim& claim, const Order& decided) {
  const auto prior = co_await prior_.look_for(claim, decided);
  if (!prior) co_return prior.error();
  if (!prior->are_none) co_return prior->requeue;
  Order resolved = decided;
  auto sized = co_await drafter_.resolve_size(claim, resolved);
  if (!sized) {
    report_.report_failed(claim, sized.error().message());
    co_return sized.error();
  }
  const auto confirmed = co_await prior_.are_still_none(claim);
  if (!confirmed) co_return confirmed.error();
  if (!*confirmed) co_return kSoon;
  auto ordered = co_await order_of_node(claim, resolved, decided);
  co_return ordered;
}

Task<Requeue> CopyOrderer::order_of_node(const Claim& claim, const Order& order,
                                         const Order& claimed) {
  const auto assigned = co_await assigner_.assign(claim, order, claimed);
  if (!assigned) co_return assigned.error();
  if (assigned->node == nullptr) co_return assigned->requeue;
  auto copy = drafter_.draft(claim, order, *assigned->node);
  if (!copy) co_return copy.error();
  auto given = co_await desk_.give(*copy);
  if (!given && given.error().code() == ErrorCode::kInvalid)
    report_.report_failed(claim, given.error().message());
  if (!given) co_return given.error();
  report_.report_ordered(claim, *copy);
  co_return std::chrono::nanoseconds(kOrderTimeout);
}

}  // namespace flexlocal::provisioner
