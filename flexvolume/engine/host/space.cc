#include "flexvolume/engine/host/space.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {

std::string space_id(Backend backend, const std::string& pool_name, const Pool& pool) {
  switch (backend) {
    case Backend::kLvm:
      return pool.volume_group.empty() ? std::string() : concat("group:", pool.volume_group);
    case Backend::kThin:
      return pool.thin_pool.empty() ? std::string()
                                    : concat("thin:", pool.volume_group, '/', pool.thin_pool);
    case Backend::kQuota:
      return pool.quota_path.empty() && pool.quota_size.count() == 0 ? std::string()
                                                                     : concat("quota:", pool_name);
  }
  return {};
}

Bytes size_in(Backend backend, const Pool& pool, Bytes size, Bytes unit) {
  return backend == Backend::kLvm ? real_size(pool.layout, size, unit) : size.rounded_up_to(unit);
}

Bytes cost_in(Backend backend, const Pool& pool, Bytes size, Bytes unit) {
  return backend == Backend::kLvm ? cost(pool.layout, size, unit) : size.rounded_up_to(unit);
}

bool fits_disks(Backend backend, const Pool& pool, const Space& space, Bytes size) {
  if (backend != Backend::kLvm || pool.layout.kind == Layout::Kind::kLinear) return true;
  return real_size(pool.layout, size, space.unit) <= largest(pool.layout, space.disks, space.unit);
}

}  // namespace flexlocal::engine
