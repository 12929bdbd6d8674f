#include "provisioner/controller/ends/nodeless_copies.h"

namespace flexlocal::provisioner {

Task<Status> NodelessCopies::release(const VolumeCopy& copy) {
  const std::string node = copy.order->node;
  if (view_.nodes.get(node) != nullptr || copy.order->reclaim_policy != "Delete" ||
      options_.node_delete_policy == NodeDeletePolicy::kReport)
    co_return Status();
  auto gone = co_await absence_.is_gone(node);
  if (!gone) co_return gone.error();
  if (!*gone) co_return Status();
  auto absent = co_await absence_.is_absent_now(node);
  if (!absent) co_return absent.error();
  if (!*absent) co_return Status();
  auto removed = co_await desk_.remove(copy);
  if (!removed) co_return removed.error();
  log_.warning("VolumeCopy of a deleted node let go; its data was not wiped",
               {{"copy", copy.name}, {"node", node}});
  co_return Status();
}

}  // namespace flexlocal::provisioner
