#include "flexvolume/engine/lvm/metadata_head.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kLabel = "LABELONE";
constexpr std::string_view kType = "LVM2 001";
constexpr std::string_view kAreaMagic = " LVM2 x[5A%r0N*>";
constexpr std::size_t kSector = 512;
constexpr std::size_t kPvUuidBytes = 32;
constexpr std::size_t kAreaBytes = 16;
constexpr std::uint32_t kIgnored = 1;
// More than the lines that are read here ever take.
constexpr std::size_t kHeadBytes = 4096;
// The label, and the area's header where LVM puts it unless told otherwise: one read for both.
constexpr std::size_t kStartBytes = 8192;

std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t number = 0;
  for (std::size_t i = count; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

// The list's end is an area of nothing.
std::optional<DiskArea> area_at(std::string_view bytes, std::size_t at) {
  if (at + kAreaBytes > bytes.size()) return std::nullopt;
  return DiskArea{little_endian(bytes, at, 8), little_endian(bytes, at + 8, 8)};
}

// `key = "value"` or `key = 7` on a line of its own.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.starts_with(key)) continue;
    line = trim(line.substr(key.size()));
    if (!line.starts_with('=')) continue;
    line = trim(line.substr(1));
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"')
      line = line.substr(1, line.size() - 2);
    return line;
  }
  return std::nullopt;
}

}  // namespace

std::optional<DiskArea> metadata_area(std::string_view start) {
  for (std::size_t label = 0; label + kSector <= start.size(); label += kSector) {
    const std::string_view rest = start.substr(label);
    if (!rest.starts_with(kLabel) || rest.substr(24, kType.size()) != kType) continue;
    std::size_t at = label + little_endian(start, label + 20, 4) + kPvUuidBytes + 8;
    // The areas of data first, then those of metadata.
    auto area = area_at(start, at);
    for (; area && area->offset != 0; area = area_at(start, at)) at += kAreaBytes;
    area = area_at(start, at + kAreaBytes);
    if (!area || area->offset == 0 || area->size <= kAreaHeaderBytes) return std::nullopt;
    return area;
  }
  return std::nullopt;
}

std::optional<MetadataText> metadata_text(std::string_view header) {
  if (header.size() < kAreaHeaderBytes || header.substr(4, kAreaMagic.size()) != kAreaMagic)
    return std::nullopt;
  const MetadataText text{{little_endian(header, 40, 8), little_endian(header, 48, 8)},
                          static_cast<std::uint32_t>(little_endian(header, 56, 4))};
  const bool ignored = (little_endian(header, 60, 4) & kIgnored) != 0;
  if (text.place.offset == 0 || text.place.size == 0 || ignored) return std::nullopt;
  return text;
}

std::optional<MetadataHead> parse_metadata_head(std::string_view text) {
  const std::size_t brace = text.find('{');
  if (brace == text.npos) return std::nullopt;
  MetadataHead head;
  head.group = std::string(trim(text.substr(0, brace)));
  const std::string_view body = text.substr(brace + 1);
  const auto id = value_of(body, "id");
  const auto seqno = value_of(body, "seqno");
  unsigned long long number = 0;
  if (head.group.empty() || !id || !seqno || !parse_number(*seqno, UINT32_MAX, number))
    return std::nullopt;
  head.group_uuid = std::string(*id);
  head.seqno = number;
  return head;
}

Result<std::optional<MetadataHead>> read_metadata_head(Devices& devices, const std::string& disk) {
  const auto start = devices.read_direct(disk, Bytes(0), kStartBytes);
  if (!start) return start.error();
  const auto area = metadata_area(std::string_view(*start).substr(0, kLabelBytes));
  if (!area) return std::optional<MetadataHead>();
  const bool is_read =
      area->offset <= start->size() && start->size() - area->offset >= kAreaHeaderBytes;
  const auto header = is_read ? Result<std::string>(start->substr(area->offset, kAreaHeaderBytes))
                              : devices.read_direct(disk, Bytes(area->offset), kAreaHeaderBytes);
  if (!header) return header.error();
  const auto text = metadata_text(*header);
  if (!text) return std::optional<MetadataHead>();
  if (text->place.offset < kAreaHeaderBytes || text->place.offset >= area->size)
    return Error(ErrorCode::kCorrupt,
                 concat("LVM's metadata on ", disk, " point outside of their area"));
  // The area is written round and round, behind its header.
  const std::size_t wanted = std::min<std::uint64_t>(text->place.size, kHeadBytes);
  const std::size_t until_end = std::min<std::uint64_t>(wanted, area->size - text->place.offset);
  auto content = devices.read_direct(disk, Bytes(area->offset + text->place.offset), until_end);
  if (!content) return content.error();
  if (until_end < wanted) {
    const auto rest =
        devices.read_direct(disk, Bytes(area->offset + kAreaHeaderBytes), wanted - until_end);
    if (!rest) return rest.error();
    *content += *rest;
  }
  auto head = parse_metadata_head(*content);
  if (!head)
    return Error(ErrorCode::kCorrupt, concat("LVM's metadata on ", disk, " cannot be read"));
  head->checksum = text->checksum;
  return head;
}

}  // namespace flexlocal::engine
