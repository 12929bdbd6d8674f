#include "flexvolume/engine/lvm/lv_remover.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/run_tool.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

// One call zeroes for about this long; what it has done by then is kept.
constexpr auto kSlice = std::chrono::seconds(4);
constexpr Bytes kChunk{512 * kMiB.count()};
// A slow disk writes a chunk in a minute.
constexpr auto kChunkDeadline = std::chrono::minutes(5);
constexpr auto kDiscardDeadline = std::chrono::minutes(10);

// What is read back after a discard: see spots_to_read().
constexpr Bytes kEnd{kMiB};
constexpr Bytes kSpot{4 * kKiB.count()};
constexpr std::uint64_t kLeastSpots = 256;
constexpr std::uint64_t kMostSpots = 4096;  // a turning disk reads them in a minute
constexpr Bytes kSpotEach{256 * kMiB.count()};

bool all_zero(std::string_view content) {
  return content.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

std::vector<Spot> spots_to_read(Bytes size) {
  const Bytes end = std::min(kEnd, size);
  std::vector<Spot> spots = {{Bytes(0), end}, {size - end, end}};
  const std::uint64_t count = std::clamp(size.count() / kSpotEach.count(), kLeastSpots, kMostSpots);
  const std::uint64_t step = size.count() / count / kSpot.count() * kSpot.count();
  if (step == 0) return spots;
  for (std::uint64_t i = 1; i < count; ++i) spots.push_back({Bytes(i * step), kSpot});
  return spots;
}

Result<Removal> LvRemover::run(const VolumeSpec& spec, const LogicalVolume& volume) {
  if (auto idle = check_idle(volume); !idle) return idle.error();
  // What is wiped must be this volume's, to the last extent.
  Resumer resumer(parts_);
  const auto resumed =
      resumer.resume(volume.group, spec.name, volume.device_uuid, volume.thin_pool);
  if (!resumed) return resumed.error();
  const auto half_made = is_half_made(parts_, spec, volume);
  if (!half_made) return half_made.error();
  const bool wipes = volume.ownership->on_delete != OnDelete::kNone && !*half_made;
  if (wipes)
    if (auto through = check_cache(volume); !through) return through.error();
  const auto mended = resumer.mend_size(volume);
  // What is at the device's path is of no account where nothing is wiped: LVM is told the LV's
  // uuid.
  if (!mended && (wipes || mended.error().code() != ErrorCode::kDenied)) return mended.error();
  if (auto current = RollbackGuard(parts_).check_volume(volume.group, spec.name); !current)
    return current.error();
  if (wipes) {
    auto record = announce(spec, volume);
    if (!record) return record.error();
    auto wiped = wipe(std::move(*record), volume);
    if (!wiped || !wiped->done) return wiped;
  }
  if (auto removed = remove(spec, volume); !removed) return removed.error();
  return Removal{};
}

Result<Record> LvRemover::announce(const VolumeSpec& spec, const LogicalVolume& volume) {
  auto known = parts_.records.load(spec.name);
  if (!known) return known.error();
  if (*known && (*known)->state == RecordState::kWiping &&
      (*known)->device_uuid == volume.device_uuid && volume.ownership->wiping)
    return std::move(**known);
  Record record{.spec = spec,
                .state = RecordState::kWiping,
                .attempt = volume.ownership->attempt,
                .device_uuid = volume.device_uuid,
                .volume_group = volume.group};
  record.spec.fs_type = volume.ownership->fs_type;
  record.spec.size = volume.ownership->size;
  if (*known) record.claim_uid = (*known)->claim_uid;
  if (*known) record.order = (*known)->order;
  if (*known) record.used = (*known)->used;
  if (auto saved = parts_.records.save(record); !saved) return saved.error();
  if (auto tagged =
          RollbackGuard(parts_).change(volume.group, [&] { return parts_.lvm.tag_wiping(volume); });
      !tagged)
    return tagged.error();
  return record;
}

// A cache that holds writes back holds back the zeros, and lvremove throws them away with it.
Status LvRemover::check_cache(const LogicalVolume& volume) {
  if (!volume.cached) return {};
  const auto through = parts_.lvm.writes_through(volume);
  if (!through) return through.error();
  if (*through) return {};
  const std::string lv = concat(volume.group, '/', volume.name);
  return Error(ErrorCode::kBusy,
               concat("logical volume ", lv,
                      " has a cache that holds writes back, so that its blocks cannot be wiped; "
                      "take the cache away with `lvconvert --uncache ",
                      lv, '`'));
}

Result<Removal> LvRemover::wipe(Record record, const LogicalVolume& volume) {
  const std::string device = device_path(volume.group, volume.name);
  const bool thin = !volume.thin_pool.empty();
  const auto checked = check_device(parts_, volume, device);
  const bool hopeless = !checked && (checked.error().code() == ErrorCode::kCorrupt ||
                                     checked.error().code() == ErrorCode::kDeadline);
  if (!checked && (!thin || hopeless)) return checked.error();
  if (thin) {
    // The pool zeroes a block before any volume sees it, and a discard gives it back to the pool. A
    // volume that the pool was never told of is removed all the same (see
    // Lvm::send_create_message).
    if (auto discarded = checked ? discard(device, volume.size) : checked; !discarded)
      parts_.log.warning("thin volume is removed without a discard",
                         {{"volume", volume.name}, {"error", discarded.error().message()}});
    return Removal{};
  }
  const bool begun = record.wiped.count() != 0;
  if (volume.ownership->on_delete == OnDelete::kDiscard && !begun) {
    const auto discarded = discard(device, volume.size);
    const auto clean =
        discarded ? reads_as_zeros(device, volume.size) : Result<bool>(discarded.error());
    if (clean && *clean) return Removal{};
    parts_.log.info("discarding did not clear the volume, it is zeroed",
                    {{"volume", volume.name},
                     {"reason", clean ? "blocks still have content" : clean.error().message()}});
  }
  return zero(std::move(record), device, volume.size);
}

Status LvRemover::blkdiscard(std::vector<std::string> arguments,
                             std::chrono::milliseconds deadline) {
  return do_tool(parts_.runner, parts_.tools, {"blkdiscard", std::move(arguments), deadline});
}

// Without --force, blkdiscard opens the device exclusively: a mounted one is refused once more.
Status LvRemover::discard(const std::string& device, Bytes size) {
  return blkdiscard({"--length", concat(size.count()), "--", device}, kDiscardDeadline);
}

Result<bool> LvRemover::reads_as_zeros(const std::string& device, Bytes size) {
  Bytes seen;
  for (const Spot& spot : spots_to_read(size)) {
    const auto content = parts_.devices.read(device, spot.offset, spot.length.count());
    if (!content) return content.error();
    if (!all_zero(*content)) return false;
    seen += spot.length;
  }
  parts_.log.info("discarded; what was read back is zero",
                  {{"device", device}, {"read", to_string(seen)}, {"size", to_string(size)}});
  return true;
}

Result<Removal> LvRemover::zero(Record record, const std::string& device, Bytes size) {
  const auto end = std::chrono::steady_clock::now() + kSlice;
  while (record.wiped < size) {
    const Bytes length = std::min(kChunk, size - record.wiped);
    auto zeroed = blkdiscard({"--zeroout", "--offset", concat(record.wiped.count()), "--length",
                              concat(length.count()), "--", device},
                             kChunkDeadline);
    if (!zeroed) return zeroed.error().context("zeroing the volume");
    record.wiped += length;
    if (auto saved = parts_.records.save(record); !saved) return saved.error();
    if (std::chrono::steady_clock::now() >= end) break;
  }
  return Removal{.done = record.wiped >= size, .wiped = record.wiped, .size = size};
}

Status LvRemover::remove(const VolumeSpec& spec, const LogicalVolume& volume) {
  if (auto removed =
          RollbackGuard(parts_).change(volume.group, [&] { return parts_.lvm.remove(volume); });
      !removed)
    return removed.error().context(concat("removing ", volume.group, '/', volume.name));
  parts_.log.info("logical volume removed", {{"volume", spec.name.text()}, {"uuid", volume.uuid}});
  return parts_.records.remove(spec.name);
}

}  // namespace flexlocal::engine
