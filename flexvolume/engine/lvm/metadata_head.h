// Which metadata a physical volume has, read from its own header: no program is started. LVM writes
// a group's metadata as a text to each of its disks; here only that text's head is looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/device.h"

namespace flexlocal::engine {

struct MetadataHead {
  std::string group;           // its name
  std::string group_uuid;      // as LVM prints it
  std::uint64_t seqno = 0;     // grows by one with each commit (man vgs, vg_seqno)
  std::uint32_t checksum = 0;  // LVM's own, of the whole text

  bool operator==(const MetadataHead&) const = default;
};

// Where on the disk an area is.
struct DiskArea {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// The first metadata area that the label of a physical volume names; `start`: the disk's first
// kLabelBytes (lib/label/label.h, struct label_header; lib/format_text/layout.h, struct
// pv_header). Nothing where there is no label, or a disk without metadata.
inline constexpr std::size_t kLabelBytes = 2048;
std::optional<DiskArea> metadata_area(std::string_view start);

// Where in its area the committed text stands, and its checksum; `header`: the area's first
// kAreaHeaderBytes (struct mda_header, struct raw_locn). Nothing where there is none, or LVM does
// not keep this copy (RAW_LOCN_IGNORED).
inline constexpr std::size_t kAreaHeaderBytes = 512;
struct MetadataText {
  DiskArea place;
  std::uint32_t checksum = 0;
};
std::optional<MetadataText> metadata_text(std::string_view header);

// The text's first lines: the group's name, id and seqno.
std::optional<MetadataHead> parse_metadata_head(std::string_view text);

// What the disk says now; nothing where it keeps no metadata. kCorrupt where what should be
// metadata is not.
Result<std::optional<MetadataHead>> read_metadata_head(Devices& devices, const std::string& disk);

}  // namespace flexlocal::engine
