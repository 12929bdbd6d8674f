#include "provisioner/agent/copy_judge.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// What the volume takes beyond what it has. `size`: what it is to have.
Status fit_growth(const Promise& wanted, const PoolRoom& room) {
  const auto cost = [&](Bytes size) {
    return engine::cost_in(wanted.backend, room.pool, size, room.unit);
  };
  const Bytes target = engine::size_in(wanted.backend, room.pool, wanted.size, room.unit);
  const Bytes more = cost(target) - cost(room.held);
  const bool enough = target <= kMostBytes && more <= room.free;
  if (enough && (room.disks_suffice || more.count() == 0)) return {};
  std::string why =
      concat("pool \"", wanted.pool, "\" has ", to_string(room.free), " free for backend ",
             engine::to_string(wanted.backend), ", ", to_string(more), " more asked");
  if (enough)
    why += concat(", and not as layout ", engine::to_string(room.pool.layout), " needs it, on ",
                  engine::disks_needed(room.pool.layout), " different disks");
  return Error(ErrorCode::kNoSpace, why);
}

}  // namespace

bool is_refusal(const Error& error) {
  return error.code() == ErrorCode::kNoSpace || error.code() == ErrorCode::kNotFound ||
         error.code() == ErrorCode::kInvalid;
}

// Two looks: what others freed in the last seconds counts.
Task<Status> CopyJudge::judge(const CopyOrder& order) {
  const engine::VolumeSpec& spec = order.volume;
  Status judged = engine::check_size(spec.backend, spec.fs_type, spec.size);
  if (!judged) co_return judged;
  for (const bool anew : {false, true}) {
    auto known = anew ? ledger_.refresh(true) : ledger_.refresh_for_new();
    auto refreshed = co_await std::move(known);
    // What was removed or grown during the look may not be seen by it.
    if (refreshed && !ledger_.is_current()) refreshed = co_await ledger_.refresh(true);
    if (!refreshed) co_return refreshed.error().context("looking at this node's disks");
    judged = judge_now(order);
    if (!judged) continue;
    // Nothing may be awaited between the look at the room and this: see Ledger.
    ledger_.reserve(spec.name.text(), spec);
    co_return Status();
  }
  co_return judged;
}

Status CopyJudge::judge_now(const CopyOrder& order) const {
  const Promise wanted = promise_of(order.volume);
  const auto room = ledger_.room(wanted, wanted.name);
  if (!room) return room.error();
  const bool made = room->held.count() != 0;
  if (made) {
    if (auto fits = fit_growth(wanted, *room); !fits) return fits;
  } else if (auto fits = size_that_fits(wanted, *room); !fits) {
    return fits.error();
  }
  if (!budget_.limit(order.disk_per_ram)) return {};
  const Bytes size = engine::size_in(wanted.backend, room->pool, wanted.size, room->unit);
  // What has been given is kept, whatever the budget is now.
  if (made && size <= room->held) return {};
  const Bytes given = ledger_.given(wanted.pool, wanted.name, wanted.name);
  return check_budget({budget_, order.disk_per_ram, given}, wanted.pool, size);
}

}  // namespace flexlocal::provisioner
