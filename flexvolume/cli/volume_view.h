// One volume as everything on the node shows it: its record, its logical volume or quota folder,
// and where it is mounted. Merging these is pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/lvm/lvm.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::cli {

// Of what is mounted, as statvfs(3) has it.
struct Usage {
  Bytes size;
  Bytes used;
};

struct MountPlace {
  std::string path;
  std::string pod_uid;  // empty for a folder that is not kubelet's
  std::optional<Usage> usage{};
};

struct VolumeView {
  std::string name;
  std::optional<engine::Record> record{};
  std::string record_error{};                 // why there is no `record` although there is a file
  std::optional<engine::LogicalVolume> lv{};  // without ownership: a stranger's
  std::optional<engine::Holding> folder{};    // of a quota volume
  bool looked = true;                         // whether what there is could be listed
  std::vector<MountPlace> mounts{};
  engine::IoLimits io_limits{};  // of the pods that mount it
};

// What is known of one record's file.
struct RecordEntry {
  engine::VolumeName name;
  Result<engine::Record> record;
};

struct NodeView {
  std::vector<RecordEntry> records;
  Result<engine::Inventory> inventory;
  std::vector<engine::MountEntry> mounts;
};

// Of a mount point; nothing when it cannot be asked.
using AskUsage = std::function<std::optional<Usage>(const std::string& path)>;

// Every volume of ours that any of the sources knows, by name. Two logical volumes of one name on
// different groups are two volumes; the record is joined to the one on its group.
std::vector<VolumeView> merge(const NodeView& node, const AskUsage& ask_usage);

// "retained" for what the policy Retain keeps and nobody has mounted; else "promised", "intent",
// "new", "ready", "wiping" as the record says; "no-record" for a logical volume or folder
// without one; "no-volume" for a record whose volume is gone; "bad-record"; "foreign" for a logical
// volume that is not ours; "mount-only" when nothing but a mount is there.
std::string_view state_of(const VolumeView& view);

// Whether it is kept for a person to decide about, see engine::Retained.
bool is_retained(const VolumeView& view);

// What is wiped of the volume so far, in whole percent; nothing unless it is being wiped.
std::optional<unsigned> wiped_percent(const VolumeView& view);

// What the sources say, the surest first; empty, or zero, when none of them does.
std::string claim_namespace_of(const VolumeView& view);
std::string claim_uid_of(const VolumeView& view);
std::string cluster_id_of(const VolumeView& view);
std::string backend_of(const VolumeView& view);
std::string pool_of(const VolumeView& view);
std::string group_of(const VolumeView& view);
std::string fs_type_of(const VolumeView& view);
Bytes size_of(const VolumeView& view);
// Nothing while it is not mounted.
std::optional<Bytes> used_of(const VolumeView& view);
// "/dev/mapper/data-pvc--..."; empty for a quota folder.
std::string device_of(const VolumeView& view);

}  // namespace flexlocal::cli
