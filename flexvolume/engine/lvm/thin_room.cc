#include "flexvolume/engine/lvm/thin_room.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

Error full(const std::string& name, std::string_view what, unsigned percent) {
  return Error(ErrorCode::kNoSpace,
               concat("thin pool ", name, ": its ", what, " is ", percent, " % full, from ",
                      kMostThinPercent, " % on it takes no new volumes; extend it with lvextend"));
}

Status check_fill(const ThinPool& thin, const Pool& pool, Bytes more) {
  const std::string name = concat(pool.volume_group, '/', pool.thin_pool);
  if (!thin.zeroing)
    return Error(ErrorCode::kInvalid,
                 concat("thin pool ", name,
                        " does not zero new blocks, so that a volume could show "
                        "another one's data; run `lvchange --zero y ",
                        name, '`'));
  if (thin.data_percent >= kMostThinPercent) return full(name, "data", thin.data_percent);
  if (thin.metadata_percent >= kMostThinPercent)
    return full(name, "metadata", thin.metadata_percent);
  const Bytes all = promisable(thin, pool);
  if (thin.promised + more <= all) return {};
  return Error(
      ErrorCode::kNoSpace,
      concat("thin pool ", name, " of ", to_string(thin.size), " may promise ", to_string(all),
             " (overcommit ", pool.overcommit_percent / 100, '.',
             pool.overcommit_percent % 100 / 10, pool.overcommit_percent % 10, "), has promised ",
             to_string(thin.promised), ", and ", to_string(more), " more are asked"));
}

}  // namespace

Bytes promisable(const ThinPool& thin, const Pool& pool) {
  __extension__ using Wide = unsigned __int128;
  const Wide all = static_cast<Wide>(thin.size.count()) * pool.overcommit_percent / 100;
  return all > kMostBytes.count() ? kMostBytes : Bytes(static_cast<std::uint64_t>(all));
}

Status check_promise(const ThinPool& thin, const Pool& pool, Bytes more) {
  if (thin.active) return check_fill(thin, pool, more);
  const std::string name = concat(pool.volume_group, '/', pool.thin_pool);
  return Error(ErrorCode::kUnavailable,
               concat("thin pool ", name,
                      " is not active, so that LVM does not say how full it is; see `lvchange -K "
                      "-a y ",
                      name, '`'));
}

std::optional<Bytes> room_to_report(const ThinPool& thin, const Pool& pool) {
  if (!thin.active && !thin.waits_for_first_volume()) return std::nullopt;
  return check_fill(thin, pool, Bytes(0)) ? promisable(thin, pool) - thin.promised : Bytes(0);
}

}  // namespace flexlocal::engine
