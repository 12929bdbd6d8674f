#include "flexvolume/engine/lvm/group_memory.h"

#include <cstdint>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr Bytes kMostBytesOfFile(256 * kKiB.count());

bool is_number(const std::optional<std::int64_t>& number) {
  return number && *number >= 0 && *number <= UINT32_MAX;
}

void add_list(JsonWriter& json, std::string_view key, const std::vector<std::string>& list) {
  json.key(key).begin_array();
  for (const std::string& text : list) json.string(text);
  json.end_array();
}

std::vector<std::string> list_in(JsonView array) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < array.size(); ++i) list.emplace_back(array.at(i).text());
  return list;
}

}  // namespace

void add_head(JsonWriter& json, const MetadataHead& head) {
  json.member("group_uuid", head.group_uuid);
  json.key("seqno").integer(static_cast<std::int64_t>(head.seqno));
  json.key("checksum").integer(head.checksum);
}

std::optional<MetadataHead> head_in(JsonView object, const std::string& group) {
  const auto seqno = object["seqno"].integer();
  const auto checksum = object["checksum"].integer();
  if (!is_number(seqno) || !is_number(checksum)) return std::nullopt;
  return MetadataHead{group, std::string(object["group_uuid"].text()),
                      static_cast<std::uint64_t>(*seqno), static_cast<std::uint32_t>(*checksum)};
}

std::string group_memory_file(std::string_view folder, std::string_view group) {
  return concat(folder, '/', group, ".json");
}

std::optional<GroupMemory> load_group_memory(const std::string& folder, const std::string& group) {
  const auto text = read_file(group_memory_file(folder, group), kMostBytesOfFile);
  if (!text) return std::nullopt;
  const auto document = JsonDocument::parse(*text);
  if (!document) return std::nullopt;
  const JsonView root = document->root();
  auto head = head_in(root, group);
  if (!head) return std::nullopt;
  return GroupMemory{std::move(*head), list_in(root["disks"]), list_in(root["unsure"])};
}

Status save_group_memory(const std::string& folder, const GroupMemory& memory) {
  JsonWriter json;
  json.begin_object();
  add_head(json, memory.head);
  add_list(json, "disks", memory.disks);
  add_list(json, "unsure", memory.unsure);
  json.end_object();
  if (auto made = make_folders(folder); !made) return made;
  return write_file_atomically(group_memory_file(folder, memory.head.group),
                               concat(json.take(), '\n'), 0600);
}

}  // namespace flexlocal::engine
