#include "provisioner/controller/unordered_reconciler.h"

#include <set>

#include "provisioner/controller/view/work_keys.h"

namespace flexlocal::provisioner {

Task<Status> UnorderedReconciler::work(const std::string& name) {
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

void UnorderedReconciler::scan() {
  if (!term_.has_begun()) return;
  const std::set<std::string> unordered = view_.unordered().names();
  orphans_.forget_unless([&](const std::string& name) {
    return unordered.contains(name) || view_.copies.copies().get(name) != nullptr;
  });
  for (const std::string& name : unordered) enqueue(queue_, kUnorderedKey, name);
}

}  // namespace flexlocal::provisioner
