#include "flexvolume/engine/volume/copy_records.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

Error not_of_copy(const VolumeSpec& spec) {
  return Error(ErrorCode::kDenied,
               concat("this node's record of volume ", spec.name.text(),
                      " is of another copy, claim, namespace or backend; nothing is changed"));
}

Error in_state(const Record& record) {
  return Error(ErrorCode::kConflict,
               concat("this node's record of volume ", record.spec.name.text(), " says \"",
                      to_string(record.state), "\"; nothing is changed"));
}

Record ordered_record(Record record, const OrderedCopy& ordered) {
  record.spec.access_mode = ordered.spec.access_mode;
  record.spec.limits = ordered.spec.limits;
  record.spec.mount_options = ordered.spec.mount_options;
  record.claim_uid = ordered.claim_uid;
  record.order = ordered.order;
  if (is_unmade(record.state)) record.retained = ordered.retained;
  return record;
}

Result<Record> saved(const RecordStore& records, Record record) {
  if (auto written = records.save(record); !written) return written.error();
  return record;
}

}  // namespace

Result<Record> CopyRecords::promise(const OrderedCopy& ordered) const {
  const auto lock = lock_volume(locks_, ordered.spec.name);
  if (!lock) return lock.error();
  const auto known = records_.load(ordered.spec.name);
  if (!known) return known.error();
  Record record = promised_record(ordered.spec, ordered.claim_uid);
  record.order = ordered.order;
  record.retained = ordered.retained;
  if (!*known) return saved(records_, std::move(record));
  const bool same = (*known)->state == RecordState::kPromised && (*known)->spec == ordered.spec &&
                    (*known)->order.uid == ordered.order.uid;
  if (!same) return in_state(**known);
  return saved(records_, std::move(record));
}

Result<Record> CopyRecords::follow(const OrderedCopy& ordered) const {
  const auto lock = lock_volume(locks_, ordered.spec.name);
  if (!lock) return lock.error();
  const auto known = records_.load(ordered.spec.name);
  if (!known) return known.error();
  if (!*known) return unpromised(ordered.spec.name);
  if (!is_of((*known)->spec, ordered.spec) ||
      is_folder((*known)->spec.backend) != is_folder(ordered.spec.backend))
    return not_of_copy(ordered.spec);
  if ((*known)->state == RecordState::kRefused || (*known)->state == RecordState::kWiping)
    return in_state(**known);
  return saved(records_, ordered_record(**known, ordered));
}

Result<Record> CopyRecords::refuse(const VolumeSpec& spec) const {
  const auto lock = lock_volume(locks_, spec.name);
  if (!lock) return lock.error();
  auto known = records_.load(spec.name);
  if (!known) return known.error();
  if (!*known) return unpromised(spec.name);
  if (!is_of((*known)->spec, spec)) return not_of_copy(spec);
  if (!is_unmade((*known)->state)) return in_state(**known);
  (*known)->state = RecordState::kRefused;
  return saved(records_, std::move(**known));
}

Status CopyRecords::withdraw(const VolumeSpec& spec) const {
  const auto lock = lock_volume(locks_, spec.name);
  if (!lock) return lock.error();
  const auto known = records_.load(spec.name);
  if (!known) return known.error();
  if (!*known) return {};
  if (!is_of((*known)->spec, spec)) return not_of_copy(spec);
  if (!is_unmade((*known)->state)) return in_state(**known);
  if (auto removed = records_.remove(spec.name); !removed) return removed;
  lock->remove_file();
  return {};
}

}  // namespace flexlocal::engine
