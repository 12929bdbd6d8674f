#include "flexvolume/engine/lvm/lv_maker.h"

#include "flexvolume/base/hex.h"
#include "flexvolume/base/lock.h"
#include "flexvolume/base/random.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lv_refusal.h"
#include "flexvolume/engine/lvm/mapper_name.h"
#include "flexvolume/engine/lvm/rollback_guard.h"
#include "flexvolume/engine/lvm/suspension.h"
#include "flexvolume/engine/volume/volume_folder.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

// A plan has about ten steps; more means that the world changes under us, and then we stop.
constexpr int kMostSteps = 24;

constexpr std::size_t kAttemptBytes = 16;

}  // namespace

LvMaker::LvMaker(const LvParts& parts, const VolumeSpec& spec, const Pool& pool, int lock)
    : parts_(parts),
      spec_(spec),
      pool_(pool),
      group_(pool.volume_group),
      device_(device_path(group_, spec.name.text())),
      lock_(lock),
      record_{.spec = spec, .volume_group = group_} {}

Result<std::string> LvMaker::run() {
  auto device = run_steps();
  if (!device) undo();
  return device;
}

Result<std::string> LvMaker::run_steps() {
  if (auto loaded = load_record(); !loaded) return loaded.error();
  for (int i = 0; i < kMostSteps; ++i) {
    const Step step = next_step(now_);
    if (step == Step::kMount) return device_;
    if (auto done = carry_out(step); !done) return done.error();
  }
  return Error(ErrorCode::kFailed, "the volume keeps changing while it is looked at; try again");
}

Status LvMaker::carry_out(Step step) {
  switch (step) {
    case Step::kCreate:
      return create();
    case Step::kLookUp:
      return look_up();
    case Step::kCheckNode:
      return check_node();
    case Step::kActivate:
      return activate();
    case Step::kCheckMetadata:
      return check_metadata();
    case Step::kProbe:
      return probe();
    case Step::kConfirm:
      return confirm();
    case Step::kFormat:
      return format();
    case Step::kMarkReady:
      return mark_ready();
    case Step::kRemoveOwn:
      return remove_own();
    case Step::kMount:
      return {};
    default:
      return refusal(step);
  }
}

Status LvMaker::load_record() {
  auto loaded = parts_.records.load(spec_.name);
  if (!loaded) return loaded.error();
  if (!*loaded) return {};
  const Record& record = **loaded;
  if (!is_of(record.spec, spec_))
    return Error(ErrorCode::kDenied, "the volume on this node belongs to another claim");
  if (record.spec.size != spec_.size) return other_size(spec_, record.spec.size);
  if (record.state == RecordState::kRefused) return given_up(spec_.name);
  if (record.state == RecordState::kPromised) {
    if (!find_only_) now_.record = record.state;
    record_.claim_uid = record.claim_uid;
    record_.order = record.order;
    return {};
  }
  if (record.volume_group != group_)
    return Error(ErrorCode::kInvalid,
                 concat("the volume is on volume group \"", record.volume_group, "\", but pool \"",
                        spec_.pool, "\" is \"", group_, "\" now; correct node.conf"));
  now_.record = record.state;
  record_ = record;
  return {};
}

Status LvMaker::create() {
  if (auto sized = check_size(spec_.backend, spec_.fs_type, spec_.size); !sized) return sized;
  if (auto nowhere = check_nowhere_else(); !nowhere) return nowhere;
  const auto attempt = random_bytes(kAttemptBytes);
  if (!attempt) return attempt.error();
  record_.attempt = to_hex(*attempt);
  record_.device_uuid.clear();
  if (auto saved = save(RecordState::kIntent); !saved) return saved;
  attempt_made_here_ = record_.attempt;
  if (auto created = create_in_group(); !created) {
    if (created.error().code() != ErrorCode::kDeadline)
      return explain_failed_create(created.error());
    // Whatever keeps lvcreate keeps lvs and lvremove too, each for its whole deadline. The record
    // says what was begun, and the next call looks.
    attempt_made_here_.clear();
    return created.error().context(concat("cannot create volume ", spec_.name.text()));
  }
  // What stood in its way, or a killed call left, may be of an earlier time.
  record_.used = false;
  parts_.log.info("logical volume made", {{"volume", spec_.name.text()}, {"group", group_}});
  now_ = Situation{.record = RecordState::kIntent,
                   .lv = LvState::kCreated,
                   .content = Content::kBlank,
                   .current = true};
  return {};
}

// The promise may be of a time before the volume, and node.conf name another group since. What LVM
// has there is active as a rule, and the kernel's list costs no program.
Status LvMaker::check_nowhere_else() {
  const auto devices = parts_.devices.mapper_devices();
  if (!devices) return devices.error();
  for (const MapperDevice& device : *devices) {
    const MapperName mapped = parse_mapper_name(device.name);
    if (mapped.volume != spec_.name.text() || mapped.group == group_) continue;
    return Error(ErrorCode::kDenied,
                 concat("logical volume ", mapped.group, '/', mapped.volume,
                        " has the volume's name, and node.conf says that its group is \"", group_,
                        "\"; correct node.conf, or remove that volume if nobody needs it"));
  }
  return {};
}

Status LvMaker::create_in_group() {
  const auto lock = lock_volume_group(parts_.locks, group_);
  if (!lock) return lock.error();
  RollbackGuard guard(parts_);
  if (auto current = guard.check(group_); !current) return current;
  // It may make the pool active.
  if (spec_.backend == Backend::kThin) {
    auto room = check_thin_room(parts_.lvm, spec_.pool, pool_, spec_.size);
    if (!room) return room;
  }
  const auto created = parts_.lvm.create(pool_, spec_, record_.attempt);
  const auto noted = guard.note(group_, created);
  return created ? noted : created;
}

// lvcreate's text is for people; what happened is asked of LVM itself.
Status LvMaker::explain_failed_create(const Error& error) {
  if (auto looked = look_up(); !looked) return error;
  if (now_.lv != LvState::kAbsent) return {};
  const std::string doing = concat("cannot create volume ", spec_.name.text());
  if (spec_.backend == Backend::kThin || error.code() == ErrorCode::kOutdated)
    return error.context(doing);
  return explain_lack(parts_.lvm, spec_.pool, pool_, spec_.size, Bytes(0), error).context(doing);
}

Status LvMaker::look_up() {
  auto found = parts_.lvm.find(group_, spec_.name);
  if (!found) return found.error();
  if (!*found) {
    // What was seen of a device stays: with one, LVM's metadata are not of today.
    now_.lv = LvState::kAbsent;
    found_.reset();
    return {};
  }
  now_.node = NodeState::kUnknown;
  adopt(std::move(**found));
  if (now_.lv == LvState::kOurs && found_->ownership->size != spec_.size)
    return other_size(spec_, found_->ownership->size);
  return {};
}

void LvMaker::adopt(LogicalVolume volume) {
  const bool confirmed = now_.record == RecordState::kReady || now_.record == RecordState::kNew;
  const bool ours = volume.ownership && owns(*volume.ownership, spec_) &&
                    (!confirmed || volume.device_uuid == record_.device_uuid);
  now_.lv = ours ? LvState::kOurs : LvState::kForeign;
  if (ours) {
    now_.tagged_ready = volume.ownership->ready;
    now_.tagged_wiping = volume.ownership->wiping;
    now_.same_attempt = volume.ownership->attempt == record_.attempt;
    record_.used = record_.used || !now_.same_attempt;
    record_.spec.fs_type = volume.ownership->fs_type;
    if (!confirmed) record_.device_uuid = volume.device_uuid;
  }
  found_ = std::move(volume);
}

Status LvMaker::check_node() {
  const auto uuid = parts_.devices.mapper_uuid(device_);
  if (!uuid && uuid.error().code() == ErrorCode::kNotFound)
    now_.node = NodeState::kAbsent;
  else if (!uuid && uuid.error().code() == ErrorCode::kDenied)
    now_.node = NodeState::kDiffers;
  else if (!uuid)
    return uuid.error();
  else
    now_.node = *uuid == record_.device_uuid ? NodeState::kMatches : NodeState::kDiffers;
  if (now_.node != NodeState::kMatches) return {};
  const std::string pool = spec_.backend == Backend::kThin ? pool_.thin_pool : std::string();
  return Resumer(parts_).resume(group_, spec_.name, record_.device_uuid, pool);
}

Status LvMaker::activate() {
  now_.activated = true;
  now_.node = NodeState::kUnknown;
  if (auto current = RollbackGuard(parts_).check_volume(group_, spec_.name); !current)
    return current;
  now_.current = true;
  // An LV that is known only by its record is looked up before this step, so it is here.
  auto activated = activate_with_node(parts_, *found_);
  if (activated && !now_.tagged_ready) return check_half_made();
  if (activated || activated.error().code() == ErrorCode::kDeadline || !may_be_untold())
    return activated;
  if (auto sent = parts_.lvm.send_create_message(*found_); !sent)
    return activated.error().context(sent.error().message());
  parts_.log.info("told the thin pool of the volume that a killed call began",
                  {{"volume", spec_.name.text()}});
  return activate_with_node(parts_, *found_);
}

// What is mounted for a pod is what it was then, and one mount more changes nothing. Where nobody
// can tell, on a disk that does not answer say, nothing is formatted; but no pod is kept from data
// that may well be on another disk.
Status LvMaker::check_metadata() {
  now_.current = true;
  const bool ready = now_.record == RecordState::kReady;
  if (ready) {
    const auto table = parts_.mounter.table();
    if (!table) return table.error();
    if (is_mounted_for_pods(*table, device_)) return {};
  }
  RollbackGuard guard(parts_);
  // A pool is mounted by a program, which has a deadline.
  const auto current = spec_.name.is_of_pool() ? guard.check_volume(group_, spec_.name)
                                               : guard.check_mount(group_, spec_.name);
  if (current || !ready || current.error().code() == ErrorCode::kOutdated) return current;
  parts_.log.warning("a volume is mounted without a look at the age of LVM's metadata",
                     {{"volume", spec_.name.text()}, {"error", current.error().message()}});
  return {};
}

// One look more on the rare path of a volume that is not ready and had to be activated.
Status LvMaker::check_half_made() {
  const auto half = parts_.lvm.is_half_made(*found_);
  if (!half) return half.error();
  now_.half_made = *half;
  return {};
}

// Nothing was written to a volume of which no more than the intent is recorded, so that an empty
// one is what it was to be; see Lvm::send_create_message.
bool LvMaker::may_be_untold() const {
  return !found_->thin_pool.empty() && now_.record == RecordState::kIntent && now_.same_attempt &&
         !now_.tagged_ready;
}

// A claim's uid is used once. A pool may be made again on the very extents of one before it, so
// that its file system is told by the lvcreate that made its LV.
std::string LvMaker::fs_uuid() const {
  if (!spec_.name.is_of_pool()) return spec_.name.claim_uid();
  const auto bytes = from_hex(attempt());
  return to_uuid(bytes && bytes->size() == kAttemptBytes ? *bytes : std::string(kAttemptBytes, 0));
}

const std::string& LvMaker::attempt() const {
  const bool tagged = now_.lv == LvState::kOurs && found_ && found_->ownership;
  return tagged ? found_->ownership->attempt : record_.attempt;
}

Status LvMaker::probe() {
  const auto content = parts_.filesystems.probe(device_, spec_.fs_type, fs_uuid());
  if (!content) return content.error();
  now_.content = *content;
  return {};
}

Status LvMaker::confirm() {
  const auto uuid = parts_.devices.mapper_uuid(device_);
  if (!uuid) return uuid.error();
  if (!uuid->starts_with("LVM-") || (now_.lv == LvState::kOurs && *uuid != record_.device_uuid))
    return refusal(Step::kRefuseNode);
  record_.device_uuid = *uuid;
  record_.attempt = std::string(attempt());
  now_.node = NodeState::kMatches;
  return save(RecordState::kNew);
}

Status LvMaker::format() {
  auto made = parts_.filesystems.make(device_, spec_.fs_type, fs_uuid(), lock_);
  if (!made) return made;
  now_.content = Content::kComplete;
  return {};
}

Status LvMaker::mark_ready() {
  record_.attempt = std::string(attempt());
  // The record that knew whether it has grown since is lost, or older.
  if (now_.tagged_ready || !now_.record) record_.grow_file_system = true;
  if (found_ && found_->ownership) record_.retained = found_->ownership->retained;
  if (auto saved = save(RecordState::kReady); !saved) return saved;
  attempt_made_here_.clear();
  parts_.log.info("volume ready", {{"volume", spec_.name.text()}, {"device", device_}});
  return {};
}

Status LvMaker::remove_found() {
  return RollbackGuard(parts_).change(group_, [&] { return parts_.lvm.remove(*found_); });
}

Status LvMaker::remove_own() {
  if (auto removed = remove_found(); !removed) return removed;
  parts_.log.info("removed what a killed call left",
                  {{"volume", spec_.name.text()}, {"uuid", found_->uuid}});
  now_ = Situation{.record = RecordState::kIntent, .lv = LvState::kAbsent};
  return {};
}

Status LvMaker::save(RecordState state) {
  record_.state = state;
  if (auto saved = parts_.records.save(record_); !saved) return saved;
  now_.record = state;
  return {};
}

Error LvMaker::refusal(Step step) const {
  if (step == Step::kRefuseNode && now_.half_made) return half_made(group_, spec_.name);
  return lv_refusal(step, spec_, group_);
}

// What this call's lvcreate made is removed again; what was there before stays as it is.
void LvMaker::undo() {
  if (attempt_made_here_.empty()) return;
  const auto undone = [&]() -> Status {
    if (auto looked = look_up(); !looked) return looked;
    const bool made_here =
        now_.lv == LvState::kOurs && found_->ownership->attempt == attempt_made_here_;
    if (now_.lv == LvState::kOurs && !made_here) return {};  // its record was written by confirm()
    if (made_here)
      if (auto removed = remove_found(); !removed) return removed;
    Record promised = promised_record(spec_, record_.claim_uid);
    promised.order = record_.order;
    return parts_.records.save(promised);
  }();
  if (!undone)
    parts_.log.warning("what a failed call made could not be removed; the next call will",
                       {{"volume", spec_.name.text()}, {"error", undone.error().message()}});
}

}  // namespace flexlocal::engine
