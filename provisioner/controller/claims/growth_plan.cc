#include "provisioner/controller/claims/growth_plan.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_pair_of_ours(const Claim& claim, const Volume& volume, const std::string& node) {
  const bool here = volume.node == node && is_ours(volume);
  // The claim's status says that both are bound; the volume's own comes a moment later.
  const bool bound = claim.phase == "Bound" && claim.volume_name == volume.name &&
                     volume.claim_uid == claim.uid && volume.phase != "Released" &&
                     volume.phase != "Failed";
  return here && bound && !claim.deleting && !volume.deleting;
}

// A pod has it, most often.
// The file system as well: it is in use, and the host does not know it to be behind its device.
bool has_grown(const engine::Inventory& inventory, const std::string& volume) {
  if (inventory.behind.contains(volume)) return false;
  return std::any_of(inventory.volumes.begin(), inventory.volumes.end(),
                     [&](const engine::LogicalVolume& lv) { return lv.name == volume && lv.open; });
}

Error no_room(const Growth& growth, const std::string& node, Bytes from, Bytes to,
              std::string_view why) {
  return Error(ErrorCode::kNoSpace,
               concat("no room to grow volume ", growth.spec.name.text(), " from ", to_string(from),
                      " to ", to_string(to), " on node ", node, ": ", why,
                      "; the volume stays as it is, and grows once there is room"));
}

// Quota charges what is allocated, if that is more than the request.
bool is_settled(const Claim& claim, Bytes size) {
  const auto allocated = parse_quantity(claim.allocated);
  const bool overcharged = allocated && *allocated > size;
  return claim.resize_status.empty() && claim.resize_error.empty() && !claim.file_system_pending &&
         !overcharged;
}

}  // namespace

GrowthPlan plan_growth(const Claim& claim, const Volume* volume, const std::string& node,
                       const std::string& cluster_id) {
  if (volume == nullptr || !is_pair_of_ours(claim, *volume, node)) return LeaveAlone{};
  const auto requested = parse_quantity(claim.requested);
  const auto offered = parse_quantity(volume->capacity);
  // Until the controller has written it, the status says nothing: then nothing is known to lack.
  const auto reported = parse_quantity(claim.capacity);
  if (!requested || !offered || !reported) return LeaveAlone{};
  const bool complete = *reported >= *requested;
  const Settle settle{*reported, *offered != *reported, !is_settled(claim, *reported)};
  if (complete && !settle.capacity_differs && !settle.status_differs) return LeaveAlone{};
  auto spec = spec_of(*volume);
  if (complete && !(spec && spec->cluster_id == cluster_id)) return LeaveAlone{};
  if (complete) return settle;
  if (!spec) return Refuse{concat("the volume cannot grow: ", spec.error().message())};
  if (spec->cluster_id != cluster_id)
    return Refuse{"the volume was made for another cluster and does not grow"};
  const auto granted = parse_quantity(volume->granted);
  const Bytes word = granted ? std::max(spec->size, *granted) : spec->size;
  return Growth{std::move(*spec), word, *offered, *requested, *reported};
}

Promise promise_of(const Growth& growth, Bytes size) {
  return {growth.spec.name.text(), growth.spec.backend, growth.spec.pool, size};
}

Bytes size_asked(const Growth& growth, const PoolRoom& room) {
  return engine::size_in(growth.spec.backend, room.pool, growth.asked, room.unit);
}

Bytes size_kept(const Growth& growth, Bytes held) {
  return std::max(held.count() == 0 ? growth.granted : held, growth.reported);
}

Result<Bytes> fit_growth(const Growth& growth, const std::string& node, const PoolRoom& room) {
  const engine::Backend backend = growth.spec.backend;
  const auto cost = [&](Bytes size) {
    return engine::cost_in(backend, room.pool, size, room.unit);
  };
  const Bytes target = std::max(size_asked(growth, room), room.held);
  // A volume that has not been made yet is promised all the same: that much is its own.
  const bool made = room.held.count() != 0;
  const Bytes taken = cost(made ? room.held : growth.granted);
  const Bytes free = made ? room.free : room.free - taken;
  const Bytes more = cost(target) - taken;
  const bool enough = target <= kMostBytes && more <= free;
  if (enough && (room.disks_suffice || more.count() == 0)) return target;
  std::string why =
      concat("pool \"", growth.spec.pool, "\" has ", to_string(free), " free for backend ",
             engine::to_string(backend), ", ", to_string(more), " more asked");
  if (enough)
    why += concat(", and not as layout ", engine::to_string(room.pool.layout), " needs it, on ",
                  engine::disks_needed(room.pool.layout), " different disks");
  return no_room(growth, node, made ? room.held : growth.granted, target, why);
}

Status keep_budget(const Growth& growth, const std::string& node, const Allowance& allowance,
                   Bytes held, Bytes size) {
  const Bytes has = std::max(held, growth.granted);
  if (size <= has) return {};
  const auto kept = check_budget(allowance, growth.spec.pool, size);
  return kept ? Status() : Status(no_room(growth, node, has, size, kept.error().message()));
}

bool awaits_mount(const Growth& growth, const Claim& claim, Bytes size, Bytes held,
                  const engine::Inventory& inventory) {
  if (!claim.file_system_pending || growth.capacity != size) return false;
  if (held.count() == 0) return growth.granted >= size;
  return held >= size && growth.spec.backend != engine::Backend::kQuota &&
         !has_grown(inventory, growth.spec.name.text());
}

bool needs_patch(const Growth& growth, Bytes size, bool made) {
  return growth.capacity != size || (!made && growth.granted < size);
}

// An engine that finds the volume mounted, and not only read-only, grows its file system at once,
// and one that mounts it later grows it then, under one lock.
GrowthEnd end_of(const Growth& growth, bool made, const engine::Inventory& inventory) {
  const bool grows_at_once = growth.spec.backend == engine::Backend::kQuota;
  const bool grown = grows_at_once || has_grown(inventory, growth.spec.name.text());
  return made && grown ? GrowthEnd::kComplete : GrowthEnd::kAtMount;
}

}  // namespace flexlocal::provisioner
