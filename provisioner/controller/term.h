// A leader's term, which its orders bear.
#pragma once

#include <cstdint>

#include "provisioner/controller/node_cache.h"

namespace flexlocal::provisioner {

// Of orders, of which `ordered` is the highest, and of what hosts have followed, which may be more
// than etcd knows since it was put back: but not by more than there may have been leaders in that
// time. A node that lies about it must not stop all those after us.
std::int64_t highest_term(const NodeCache& nodes, Log& log, std::int64_t ordered);

// Above that one, by a distance that is drawn: hosts that followed a leader which the API server
// has forgotten, since it was put back, followed another term than the next one's.
std::int64_t draw_term_above(std::int64_t highest);

}  // namespace flexlocal::provisioner
