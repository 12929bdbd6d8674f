#include "provisioner/controller/publish/capacity_sweeper.h"

#include <map>
#include <vector>

namespace flexlocal::provisioner {

Task<Status> CapacitySweeper::sweep(const CapacityPlace& place,
                                    const kube::Informer<PublishedCapacity>& capacities) {
  std::vector<PublishedCapacity> kept_by_nobody;
  std::map<CapacityPublisher::Key, Bytes> sizes;
  capacities.for_each([&](const std::string&, const PublishedCapacity& published) {
    // What somebody else has written is never what was told.
    if (publisher_ != nullptr)
      sizes[{published.node, published.storage_class}] =
          published.is_ours ? published.size : kMostBytes;
    if (!objection_to(published).empty()) kept_by_nobody.push_back(published);
  });
  if (publisher_ != nullptr) publisher_->compare(sizes);
  for (const PublishedCapacity& published : kept_by_nobody) {
    const std::string why = objection_to(published);
    if (why.empty()) continue;
    const Status removed = co_await remove(place, published, why);
    if (!removed) co_return removed;
  }
  co_return Status();
}

// A daemon that is cut off comes back and tells of its room anew, so a mistake costs seconds.
std::string CapacitySweeper::objection_to(const PublishedCapacity& published) const {
  const std::string& node = published.node;
  if (view_.classes.get(published.storage_class) == nullptr) return "its StorageClass is gone";
  if (view_.nodes.get(node) == nullptr) return "its node is gone";
  const NodeHealth health = view_.nodes.health(node);
  return health.is_silent() ? "its node's daemon gives no sign of life" : "";
}

Task<Status> CapacitySweeper::remove(const CapacityPlace& place, const PublishedCapacity& published,
                                     const std::string& why) {
  const std::string path = capacity_path(place, published.name);
  const auto removed = co_await api_.delete_object(path, published.preconditions);
  if (!removed) {
    const ErrorCode code = removed.error().code();
    // Gone already, or written meanwhile: then somebody keeps it.
    if (code == ErrorCode::kNotFound || code == ErrorCode::kConflict) co_return Status();
    co_return removed.error();
  }
  log_.info("room is no longer told",
            {{"node", published.node}, {"class", published.storage_class}, {"why", why}});
  co_return Status();
}

}  // namespace flexlocal::provisioner
