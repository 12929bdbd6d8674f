#include "provisioner/controller/ends/unneeded_copy_worker.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kRollWait = std::chrono::seconds(1);

}  // namespace

// Its node knows whether a pod had it. Of what is not made anew, or may be of before a put-back of
// the API server, or nobody can answer for, a person decides.
Task<Requeue> UnneededCopyWorker::end(const VolumeCopy& copy) {
  const CopyOrder& order = *copy.order;
  const bool in_doubt = order.term < desk_.term() && roll_.shows_put_back();
  const bool is_mute = was_made_or_found(copy) && view_.nodes.get(order.node) == nullptr;
  if (order.origin != Origin::kNew || in_doubt || is_mute || owners_.has_lost_volume(copy)) {
    auto requeue = co_await report(copy);
    co_return requeue;
  }
  if (!roll_.is_over()) co_return std::chrono::nanoseconds(kRollWait);
  auto withdrawn = co_await desk_.withdraw_unclaimed(copy);
  if (!withdrawn) co_return withdrawn.error();
  co_return std::nullopt;
}

Task<Requeue> UnneededCopyWorker::report(const VolumeCopy& copy) {
  orphans_.begin_look(copy.name);
  const Orphan orphan{.order = *copy.order, .object = copy};
  auto requeue = co_await orphans_.work(orphan);
  if (!requeue || owners_.has_lost_volume(copy)) co_return requeue;
  auto released = co_await nodeless_.release(copy);
  if (!released) co_return released.error();
  co_return requeue;
}

}  // namespace flexlocal::provisioner
