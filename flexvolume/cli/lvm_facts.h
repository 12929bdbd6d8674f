// What LVM reports of groups and thin pools beyond what a mount needs to know.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal::cli {

struct GroupFact {
  std::string name;
  Bytes size;
  Bytes free;
  Bytes extent;
  unsigned disks = 0;          // physical volumes
  unsigned missing_disks = 0;  // of those
};

struct LogicalVolumeFact {
  std::string group;
  std::string name;
  std::string kind;     // "linear", "thin", "thin-pool", "raid1", ...
  bool zeroes = false;  // of a thin pool: new blocks are zeroed before they are handed out
  // Of a thin pool: what is written to already. Whole percent, rounded up; nothing when it is
  // not active.
  std::optional<unsigned> data_percent{};
  std::optional<unsigned> metadata_percent{};
};

// The columns to ask for, and what was printed with --reportformat json --units b --nosuffix.
// kCorrupt when it is not that.
inline constexpr std::string_view kGroupFactColumns =
    "vg_name,vg_size,vg_free,vg_extent_size,pv_count,vg_missing_pv_count";
inline constexpr std::string_view kVolumeFactColumns =
    "vg_name,lv_name,segtype,zero,data_percent,metadata_percent";
Result<std::vector<GroupFact>> parse_group_facts(std::string_view report);
Result<std::vector<LogicalVolumeFact>> parse_volume_facts(std::string_view report);

}  // namespace flexlocal::cli
