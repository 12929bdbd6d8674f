#include "flexvolume/engine/lvm/lv_settler.h"

#include "flexvolume/base/first_failure.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lv_grower.h"
#include "flexvolume/engine/lvm/lv_maker.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

enum class Settlement { kNone, kTagReady, kFindData };

Settlement plan(const std::optional<Record>& record, const LogicalVolume& volume) {
  const Ownership& tags = *volume.ownership;
  if (!record) return tags.wiping ? Settlement::kNone : Settlement::kFindData;
  if (record->state == RecordState::kPromised)
    return tags.ready && owns(tags, record->spec) ? Settlement::kFindData : Settlement::kNone;
  const bool newly_ready = record->state == RecordState::kReady && !tags.ready &&
                           record->device_uuid == volume.device_uuid;
  return newly_ready ? Settlement::kTagReady : Settlement::kNone;
}

Backend backend_of(const LogicalVolume& volume) {
  return volume.thin_pool.empty() ? Backend::kLvm : Backend::kThin;
}

}  // namespace

Status LvSettler::run(const Inventory& inventory) {
  Resumer resumer(parts_);
  constexpr std::string_view kUnfinished = "what a killed LVM command left is not finished";
  log_failure(kUnfinished, resumer.finish_all(config_));
  for (const LogicalVolume& volume : inventory.shared)
    log_failure(kUnfinished, resumer.mend_size(volume));
  FirstFailure all;
  for (const LogicalVolume& volume : inventory.volumes) {
    if (!volume.ownership) continue;
    // What older metadata bring back may be gone, and its extents another volume's.
    const bool outdated = inventory.outdated.contains(volume.group);
    const auto restored = outdated ? Status() : settle(volume);
    log_failure(kUnfinished, resumer.mend_size(volume));
    const auto settled = restored && !outdated ? complete_growth(volume) : restored;
    if (!settled)
      all.note(settled.error().context(concat("settling ", volume.group, '/', volume.name)));
  }
  return all.status();
}

void LvSettler::log_failure(std::string_view what, const Status& done) {
  if (!done) parts_.log.warning(what, {{"error", done.error().message()}});
}

Status LvSettler::settle(const LogicalVolume& volume) {
  const auto name = VolumeName::of_claim(volume.ownership->claim_uid);
  if (!name || name->text() != volume.name) return {};  // renamed by a person: theirs to settle
  // Most are settled already; a lock is only waited for where there is something to do.
  const auto glance = parts_.records.load(*name);
  if (!glance) return glance.error();
  if (plan(*glance, volume) == Settlement::kNone) return {};
  const auto lock = lock_volume(parts_.locks, *name);
  if (!lock) return lock.error();
  const auto record = parts_.records.load(*name);
  if (!record) return record.error();
  switch (plan(*record, volume)) {
    case Settlement::kNone:
      return {};
    case Settlement::kTagReady:
      return RollbackGuard(parts_).change(volume.group,
                                          [&] { return parts_.lvm.tag_ready(volume); });
    case Settlement::kFindData:
      log_failure("a volume without its record cannot be mounted",
                  find_data(*record, volume, lock->fd()));
      return {};
  }
  return {};
}

// Nothing is taken for the volume's data but its own complete file system: metadata that were put
// back may name another volume's extents.
Status LvSettler::find_data(const std::optional<Record>& promise, const LogicalVolume& volume,
                            int lock) {
  const auto pool = config_.pools.find(volume.ownership->pool);
  if (pool == config_.pools.end() || pool->second.volume_group != volume.group)
    return Error(ErrorCode::kInvalid,
                 concat("logical volume ", volume.group, '/', volume.name, " was made in pool \"",
                        volume.ownership->pool, "\", which node.conf does not have on that group"));
  const auto tagged = spec_by_tags(*volume.ownership, backend_of(volume));
  if (!tagged) return tagged.error();
  // A promise knows what tags do not say; another pool's is none of this volume.
  const VolumeSpec& spec = promise ? promise->spec : *tagged;
  if (spec.pool != tagged->pool || spec.backend != tagged->backend)
    return Error(ErrorCode::kDenied, concat("logical volume ", volume.group, '/', volume.name,
                                            " is not what the record promises"));
  const auto found = LvMaker(parts_, spec, pool->second, lock).find();
  return found ? Status() : found.error();
}

// Of a volume that was mounted when its growth was noted, as its record may be lost meanwhile: no
// other mount completes it, and its claim waits.
Status LvSettler::complete_growth(const LogicalVolume& volume) {
  const auto name = VolumeName::of_claim(volume.ownership->claim_uid);
  if (!volume.open || !name || name->text() != volume.name) return {};
  const auto glance = parts_.records.load(*name);
  if (!glance) return glance.error();
  if (!*glance || (*glance)->state != RecordState::kReady || !(*glance)->grow_file_system)
    return {};
  const auto lock = lock_volume(parts_.locks, *name);
  if (!lock) return lock.error();
  const auto record = parts_.records.load(*name);
  if (!record) return record.error();
  if (!*record || !(*record)->grow_file_system) return {};
  const Pool none;
  return LvGrower(parts_, (*record)->spec, none).finish(**record);
}

}  // namespace flexlocal::engine
