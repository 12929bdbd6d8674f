// Whether a thin pool may promise more: LVM itself never says no.
#pragma once

#include <optional>

#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/lvm/lvm_report.h"

namespace flexlocal::engine {

// A pool that is nearly full takes no new promises: its volumes' writers would be the first to
// notice. In percent of data or of metadata, whichever is fuller.
inline constexpr unsigned kMostThinPercent = 95;

// All that the pool may promise, with the administrator's overcommit.
Bytes promisable(const ThinPool& thin, const Pool& pool);

// Whether `more` bytes can be promised. kNoSpace, with figures, when the sum of the volumes, the
// data or the metadata would be too much; kInvalid, with the command that helps, when the pool does
// not zero new blocks: a volume could then show what another one held; kUnavailable when it is not
// active.
Status check_promise(const ThinPool& thin, const Pool& pool, Bytes more);

// What a node reports as the pool's room, 0 when check_promise would refuse any volume. Nothing for
// a pool that is down, unless it only waits for its first volume: that one never comes where no
// room is shown.
std::optional<Bytes> room_to_report(const ThinPool& thin, const Pool& pool);

}  // namespace flexlocal::engine
