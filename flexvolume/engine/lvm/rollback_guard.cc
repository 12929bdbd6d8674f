#include "flexvolume/engine/lvm/rollback_guard.h"

#include <algorithm>
#include <iterator>

#include "flexvolume/base/in_child.h"
#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/mapper_name.h"
#include "flexvolume/engine/volume/volume_folder.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::engine {
namespace {

// How long the metadata of a group's disks are waited for.
struct Patience {
  std::chrono::seconds lock;
  ChildDeadlines reading;
};
// More than a disk takes that answers at all, and than many that are busy take together.
constexpr Patience kPatient{kDisksDeadline, {std::chrono::seconds(10), std::chrono::seconds(20)}};
// For who can do without, and is waited for.
constexpr Patience kBrief{std::chrono::seconds(1),
                          {std::chrono::seconds(1), std::chrono::seconds(2)}};

// What the disks of a group say. In doubt: one cannot be read, or is another group's.
struct DiskHeads {
  std::vector<MetadataHead> heads;
  bool in_doubt = false;
  Status complete;  // or why those of some disks are not here
};

// A line for each, as soon as it is read: the next disk may not answer.
void write_heads(const BackendParts& parts, const std::string& group,
                 const std::vector<std::string>& disks, const Write& write) {
  for (const std::string& disk : disks) {
    const auto head = read_metadata_head(parts.devices, disk);
    const bool ours = head && *head && (*head)->group == group;
    JsonWriter json;
    json.begin_object().key("in_doubt").boolean(!head || (*head && !ours));
    if (ours) add_head(json, **head);
    write(concat(json.end_object().take(), '\n'));
  }
}

DiskHeads parse_heads(std::string_view text, const std::string& group) {
  DiskHeads all;
  // What comes last is empty, or was not written to its end.
  auto lines = split(text, '\n');
  if (!lines.empty()) lines.pop_back();
  for (const std::string_view line : lines) {
    const auto document = JsonDocument::parse(line);
    if (!document) {
      all.in_doubt = true;
      continue;
    }
    const JsonView object = document->root();
    all.in_doubt = all.in_doubt || object["in_doubt"].boolean().value_or(true);
    if (auto head = head_in(object, group)) all.heads.push_back(std::move(*head));
  }
  return all;
}

// By a child: a disk that does not answer holds nobody up for ever.
DiskHeads heads_of(const BackendParts& parts, const std::string& group,
                   const std::vector<std::string>& disks, const Patience& patience = kPatient) {
  const auto lock = lock_disks(parts.locks, group, disks, patience.lock);
  ChildOutput output{{}, lock ? Status() : lock.error()};
  if (lock)
    output = in_child(
        *lock, [&](const Write& write) { write_heads(parts, group, disks, write); },
        patience.reading);
  DiskHeads all = parse_heads(output.text, group);
  if (!output.ended)
    all.complete = output.ended.error().context(
        concat("reading LVM's metadata on the disks of volume group \"", group,
               "\", one of which may not answer"));
  return all;
}

// One that was away may have older metadata than the others.
std::optional<MetadataHead> newest_of(const DiskHeads& all) {
  const auto found = std::max_element(
      all.heads.begin(), all.heads.end(),
      [](const MetadataHead& a, const MetadataHead& b) { return a.seqno < b.seqno; });
  return found == all.heads.end() ? std::nullopt : std::optional(*found);
}

// What LVM says of a text that was not read, as if it were the one that was seen.
MetadataHead unread_head(const GroupDisks& found, const MetadataHead& seen) {
  return {seen.group, found.group_uuid, found.seqno, seen.checksum};
}

// Of a group whose metadata were never seen but as older ones. No metadata are these.
GroupMemory unseen(const std::string& group) { return {{group, {}, 0, 0}, {}, {}}; }

bool is_unsure(const GroupMemory& memory, const VolumeName& name) {
  return std::find(memory.unsure.begin(), memory.unsure.end(), name.text()) != memory.unsure.end();
}

constexpr std::string_view kOpen = "it is open and mounted for no pod";

Error unsure_device(const std::string& group, const VolumeName& name, std::string_view why) {
  return Error(ErrorCode::kOutdated,
               concat("the device of logical volume ", group, '/', name.text(),
                      " may be what older metadata of LVM's say; once LVM has the newest, "
                      "deactivate it with `lvchange -an ",
                      group, '/', name.text(), "`: ", why));
}

// Unless another group has the name now.
bool is_older(const MetadataHead& now, const MetadataHead& seen) {
  return now.group_uuid == seen.group_uuid && now.seqno <= seen.seqno && now != seen;
}

}  // namespace

Error older_metadata(std::string_view shown, const std::string& group) {
  return Error(ErrorCode::kOutdated,
               concat(shown,
                      ": LVM's metadata are older than its volumes; bring newer ones back "
                      "(`vgcfgrestore --list ",
                      group, "`)"));
}

std::optional<GroupMemory> RollbackGuard::recall(const std::string& group) const {
  return load_group_memory(parts_.groups, group);
}

// Nothing waits for its success: with an older memory, or none, the next check asks LVM.
void RollbackGuard::remember(const GroupMemory& memory) {
  if (auto kept = save_group_memory(parts_.groups, memory); !kept)
    parts_.log.warning("what LVM's metadata are now could not be noted",
                       {{"group", memory.head.group}, {"error", kept.error().message()}});
}

// True: all disks say what was seen; one that LVM uses no more may say what LVM's metadata were
// before. kOutdated where what can be read is older, for who cannot look closer.
Result<bool> RollbackGuard::is_seen(const GroupMemory& seen) const {
  const auto now = heads_of(parts_, seen.head.group, seen.disks);
  const auto newest = newest_of(now);
  if (newest && is_older(*newest, seen.head)) return older_than_seen(*newest, seen.head);
  if (!now.complete) return now.complete.error();
  return !now.in_doubt && newest &&
         std::all_of(now.heads.begin(), now.heads.end(),
                     [&](const MetadataHead& head) { return head == seen.head; });
}

std::optional<MetadataHead> RollbackGuard::present(const std::string& group) const {
  const auto memory = recall(group);
  if (!memory) return std::nullopt;
  const auto now = heads_of(parts_, group, memory->disks, kBrief);
  if (!now.complete || now.in_doubt || now.heads.empty()) return std::nullopt;
  const bool agree = std::all_of(now.heads.begin(), now.heads.end(), [&](const MetadataHead& head) {
    return head == now.heads.front();
  });
  return agree ? std::optional(now.heads.front()) : std::nullopt;
}

Result<std::optional<MetadataHead>> RollbackGuard::newest(
    const std::string& group, const std::vector<std::string>& disks) const {
  const auto all = heads_of(parts_, group, disks);
  return all.complete ? newest_of(all) : Result<std::optional<MetadataHead>>(all.complete.error());
}

Error RollbackGuard::older_than_seen(const MetadataHead& now, const MetadataHead& seen) const {
  const Error error =
      older_metadata(concat("volume group \"", now.group, "\" has metadata number ", now.seqno,
                            " now, and had others of number ", seen.seqno, " before"),
                     now.group);
  return Error(error.code(),
               concat(error.message(),
                      ", or, if nobody needs what the older ones do not have, deactivate the group "
                      "(`vgchange -an ",
                      now.group, "`) and remove ", group_memory_file(parts_.groups, now.group)));
}

// A volume that an administrator removes between the look at the devices and the one at LVM is
// none that LVM has forgotten.
Status RollbackGuard::check_devices(const std::string& group,
                                    const std::optional<MetadataHead>& now,
                                    std::string_view mended) {
  const auto first = compare_devices(group, now, mended);
  return first ? first : compare_devices(group, now, mended);
}

// What is left of another group of that name is none of this one's: a device's uuid begins with its
// group's. An administrator's snapshot may have a name like those of ours, and none of our tags:
// its device is as large as its origin, and LVM's size of it is that of what has changed since.
Status RollbackGuard::compare_devices(const std::string& group,
                                      const std::optional<MetadataHead>& now,
                                      std::string_view mended) {
  std::string uuid = "LVM-";
  if (now)
    std::copy_if(now->group_uuid.begin(), now->group_uuid.end(), std::back_inserter(uuid),
                 [](char letter) { return letter != '-'; });
  const auto all = parts_.devices.mapper_devices();
  if (!all) return all.error();
  std::vector<std::pair<std::string, Bytes>> ours;
  for (const MapperDevice& device : *all) {
    MapperName mapped = parse_mapper_name(device.name);
    if (mapped.group == group && mapped.volume != mended && device.uuid.starts_with(uuid) &&
        VolumeName::parse_any(mapped.volume))
      ours.emplace_back(std::move(mapped.volume), device.size);
  }
  if (ours.empty()) return {};
  const auto known = lvm_.volumes_on(group);
  if (!known) return known.error();
  for (const auto& [name, size] : ours) {
    const auto found = std::find_if(known->begin(), known->end(),
                                    [&name = name](const auto& lv) { return lv.name == name; });
    const std::string volume = concat("logical volume ", group, '/', name);
    if (found == known->end())
      return older_metadata(concat("LVM does not know ", volume, ", and its device is there"),
                            group);
    if (found->owned && found->size < size)
      return older_metadata(
          concat(volume, " runs with ", size.count(), " bytes, and LVM says ", found->size.count()),
          group);
  }
  return {};
}

// A device has the extents that the metadata of its activation say: what is active while LVM's are
// older may be of these, also when newer ones are back. What is mounted is what it was at its
// mount.
void RollbackGuard::doubt_devices(const std::string& group, GroupMemory memory) {
  const auto all = parts_.devices.mapper_devices();
  const auto table = parts_.mounter.table();
  if (!all || !table) return;
  const std::size_t before = memory.unsure.size();
  for (const MapperDevice& device : *all) {
    const MapperName mapped = parse_mapper_name(device.name);
    const auto name = VolumeName::parse_any(mapped.volume);
    if (mapped.group == group && name && !is_unsure(memory, *name) &&
        !is_mounted_for_pods(*table, device_path(group, mapped.volume)))
      memory.unsure.push_back(mapped.volume);
  }
  if (memory.unsure.size() != before) remember(memory);
}

Status RollbackGuard::check(const std::string& group, std::string_view mended) {
  const auto seen = recall(group);
  const auto current = compare(group, seen, mended);
  if (!current && current.error().code() == ErrorCode::kOutdated)
    doubt_devices(group, seen.value_or(unseen(group)));
  return current;
}

Status RollbackGuard::compare(const std::string& group, const std::optional<GroupMemory>& seen,
                              std::string_view mended) {
  // A disk that does not answer, or says something older, may be none of the group's any more.
  std::optional<Error> doubt;
  if (seen) {
    const auto same = is_seen(*seen);
    if (same && *same) return {};
    if (!same) doubt = same.error();
  }
  auto found = lvm_.group_disks(group);
  if (!found) return doubt.value_or(found.error());
  const auto now = newest(group, found->names);
  if (!now) return doubt.value_or(now.error());
  // Where no disk's metadata can be read from here, LVM's own word on their number is left, and
  // what runs.
  const auto age = *now   ? *now
                   : seen ? std::optional(unread_head(*found, seen->head))
                          : std::nullopt;
  if (age && seen && is_older(*age, seen->head)) return older_than_seen(*age, seen->head);
  if (auto current = check_devices(group, age, mended); !current) return current;
  // What was not looked at may contradict them.
  if (*now && mended.empty())
    remember({**now, std::move(found->names), seen ? seen->unsure : std::vector<std::string>()});
  return {};
}

Status RollbackGuard::check_unlocked(const std::string& group) {
  std::optional<Error> doubt;
  if (const auto seen = recall(group)) {
    const auto same = is_seen(*seen);
    if (same && *same) return {};
    if (!same) doubt = same.error();
  }
  const auto lock = lock_volume_group(parts_.locks, group);
  return lock ? check(group) : Status(doubt.value_or(lock.error()));
}

Status RollbackGuard::check_mount(const std::string& group, const VolumeName& name) {
  const auto seen = recall(group);
  if (!seen || is_unsure(*seen, name)) return check_volume(group, name);
  const auto disk = parts_.devices.only_disk_of(device_path(group, name.text()), seen->disks);
  if (!disk) return check_volume(group, name);
  const auto head = read_metadata_head(parts_.devices, *disk);
  if (head && *head == seen->head) return {};
  const auto current = check_volume(group, name);
  if (current || current.error().code() == ErrorCode::kOutdated) return current;
  // What cannot be looked at closer stays in doubt.
  const bool older = head && *head && is_older(**head, seen->head);
  return older ? older_than_seen(**head, seen->head) : current;
}

Status RollbackGuard::check_volume(const std::string& group, const VolumeName& name) {
  const auto current = check_unlocked(group);
  const auto now = recall(group);
  if (!now || !is_unsure(*now, name)) return current;
  const auto sure = current ? make_sure(group, name) : current;
  return sure ? sure : unsure_device(group, name, sure.error().message());
}

Status RollbackGuard::check_open(const LogicalVolume& volume) const {
  const auto name = VolumeName::parse_any(volume.name);
  const auto memory = recall(volume.group);
  if (!volume.open || !name || !memory || !is_unsure(*memory, *name)) return {};
  const auto table = parts_.mounter.table();
  if (!table) return table.error();
  if (is_mounted_for_pods(*table, device_path(volume.group, volume.name))) return {};
  return unsure_device(volume.group, *name, kOpen);
}

Status RollbackGuard::make_sure(const std::string& group, const VolumeName& name) {
  const auto lock = lock_volume_group(parts_.locks, group);
  if (!lock) return lock.error();
  if (auto current = check(group); !current) return current;
  const auto found = lvm_.find_on(group, name);
  if (!found) return found.error();
  if (*found && (*found)->open) return Error(ErrorCode::kBusy, "it is open and mounted for no pod");
  if (*found && (*found)->active)
    if (auto refreshed = lvm_.refresh(**found); !refreshed) return refreshed;
  auto memory = recall(group);
  if (!memory) return {};
  std::erase(memory->unsure, name.text());
  remember(*memory);
  return {};
}

Status RollbackGuard::look(const std::string& group) {
  const auto lock = try_lock_volume_group(parts_.locks, group);
  if (lock) return check(group);
  return lock.error().code() == ErrorCode::kDeadline ? Status() : Status(lock.error());
}

Status RollbackGuard::change(const std::string& group, const std::function<Status()>& make) {
  const auto lock = lock_volume_group(parts_.locks, group);
  if (!lock) return lock.error();
  if (auto current = check(group); !current) return current;
  const auto made = make();
  const auto noted = note(group, made);
  return made ? noted : made;
}

Status RollbackGuard::note(const std::string& group, const Status& made) {
  auto seen = recall(group);
  // Whatever keeps LVM keeps whoever reads these disks.
  if (!seen || (!made && made.error().code() == ErrorCode::kDeadline)) return {};
  const auto now = newest(group, seen->disks);
  if (!now || !*now || (*now)->group_uuid != seen->head.group_uuid || **now == seen->head)
    return {};
  if (is_older(**now, seen->head)) return older_than_seen(**now, seen->head);
  seen->head = **now;
  remember(*seen);
  return {};
}

}  // namespace flexlocal::engine
