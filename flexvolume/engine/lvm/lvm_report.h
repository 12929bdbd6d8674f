// What LVM says of itself in JSON, read into plain structs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/space.h"
#include "flexvolume/engine/lvm/metadata_head.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {

// The columns that the parsers need.
inline constexpr std::string_view kGroupColumns = "vg_name,vg_uuid,vg_size,vg_free,vg_extent_size";
inline constexpr std::string_view kVolumeOnlyColumns =
    "lv_name,lv_uuid,lv_size,lv_tags,lv_device_open,lv_active,lv_layout,lv_role,pool_lv";
inline constexpr std::string_view kThinPoolColumns =
    "lv_name,lv_size,pool_lv,data_percent,metadata_percent,zero,lv_health_status,lv_skip_"
    "activation";
inline constexpr std::string_view kComponentColumns =
    "lv_name,lv_parent,lv_active,lv_device_open,lv_permissions";
inline constexpr std::string_view kThinIdColumn = "thin_id";
inline constexpr std::string_view kCacheModeColumn = "cache_mode";
inline constexpr std::string_view kDiskColumns = "vg_name,pv_name,pv_free";
inline constexpr std::string_view kGroupDiskColumns = "vg_name,vg_uuid,vg_seqno,pv_name";

struct VolumeGroup {
  std::string name;
  Bytes size;
  Bytes free;
  Bytes extent;
};

struct LogicalVolume {
  std::string group;
  std::string name;
  std::string uuid;         // lv_uuid as LVM prints it
  std::string device_uuid;  // what device-mapper calls it: "LVM-<vg uuid><lv uuid>", no hyphens
  Bytes size;
  bool open = false;  // somebody has the device open: a mount, most often
  bool active = false;
  std::string thin_pool;               // of a thin volume; a cache's pool is none
  bool has_snapshots = false;          // that are removed with it; those of a thin volume are not
  bool cached = false;                 // an administrator has put a cache before it
  std::optional<Ownership> ownership;  // nothing: a stranger's
  bool owned = false;  // it has our owner tag, as a pool's shared volume, which is no claim's
};

// A group's metadata, and the disks that they are on.
struct GroupDisks {
  std::string group_uuid;
  std::uint64_t seqno = 0;
  std::vector<std::string> names;  // of their nodes in /dev
};

// A thin pool and what was promised of it, by whomever.
struct ThinPool {
  Bytes size;
  bool active = false;            // else nobody knows how full it is: the percents are 0
  unsigned data_percent = 0;      // rounded up
  unsigned metadata_percent = 0;  // rounded up
  bool zeroing = false;           // blocks are zeroed before a volume sees them
  Bytes promised;                 // the sum of its volumes' sizes
  std::string health{};           // in LVM's words (man lvs, lv_health_status); empty: good
  bool skips_activation = false;  // a plain activation passes it over (man lvchange, -K)

  // An empty pool that is down and that the mount of its first volume makes active.
  bool waits_for_first_volume() const {
    return !active && promised == Bytes(0) && health.empty() && !skips_activation;
  }
};

// A quota folder that carries our mark.
struct OwnedFolder {
  std::string name;
  std::string pool;  // whose shared file system it is on
  Ownership owner;   // as its mark says; `attempt` is its project's id
  Bytes limit;
  bool open = false;  // it is mounted for a pod
};

struct Inventory {
  std::vector<VolumeGroup> groups;
  std::vector<LogicalVolume> volumes;  // those with our owner tag, of whichever cluster
  // Added by Engine::inventory, which knows the pools:
  std::vector<Space> spaces{};
  std::vector<Holding> holdings{};
  // By volume, as they were before the disks were looked at: what a record calls ready and the
  // disks do not have is gone. And why those cannot be read that cannot.
  std::map<std::string, Record> records{};
  std::map<std::string, std::string> damaged{};
  // Quota folders at their place, neither half made nor being removed.
  std::vector<OwnedFolder> folders{};
  std::vector<LogicalVolume> shared{};  // of pools' shared file systems
  std::vector<std::string> unseen{};    // pools with quota-size that cannot be seen now
  // Groups whose metadata somebody put back to older ones, and the sentence of it: RollbackGuard.
  std::map<std::string, std::string> outdated{};
  std::set<std::string> behind{};  // volumes whose file system has not grown with them yet
  // By group: the metadata from just before the groups were looked at, for those of the pools.
  // Empty where there are spaces that change without them: thin pools, file systems with quotas.
  std::map<std::string, MetadataHead> heads{};
};

// What `vgs` and `lvs` printed with --reportformat json. kCorrupt when it is not that.
Result<std::vector<VolumeGroup>> parse_volume_groups(std::string_view report);
Result<std::vector<LogicalVolume>> parse_logical_volumes(std::string_view report);
// Of `lvs` with a thin pool and its volumes: kNotFound when there is no such pool.
Result<ThinPool> parse_thin_pool(std::string_view report, std::string_view name);
// Of `lvs -a` with a group's volumes: those hidden ones that the volume is made of (a thin pool's
// data and metadata, a mirror's images), and those that these are made of, which are active,
// writable and not open, or have no table yet.
Result<std::vector<std::string>> parse_idle_components(std::string_view report,
                                                       std::string_view volume);
// Of the same: whether the mirror's metadata are not hidden, which no lvcreate leaves that came to
// its end: it wipes them as it wipes volumes.
Result<bool> parse_half_made(std::string_view report, std::string_view volume);
// Of `lvs` with one cached volume: whether what is written to it is on its own disk when the write
// ends, and on the cache's besides.
Result<bool> parse_writes_through(std::string_view report);
// Of `lvs` with one thin volume: the pool's number for it. kNotFound when there is no such volume.
Result<unsigned> parse_thin_id(std::string_view report);
// Of `vgs` with a row for each disk: what is free there.
Result<std::vector<Bytes>> parse_disks(std::string_view report);
// Of `vgs` with one group's kGroupDiskColumns.
Result<GroupDisks> parse_group_disks(std::string_view report);
// Of `vgs` with columns of both: a row for each volume, none for a group that has no volume.
Result<Inventory> parse_inventory(std::string_view report);

}  // namespace flexlocal::engine
