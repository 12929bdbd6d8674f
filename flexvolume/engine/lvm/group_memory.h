// What is kept of a volume group: a file for each, outside of what LVM may put back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/json.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/lvm/metadata_head.h"

namespace flexlocal::engine {

struct GroupMemory {
  MetadataHead head;                // which metadata were seen last
  std::vector<std::string> disks;   // on these
  std::vector<std::string> unsure;  // volumes whose device may be of older metadata
};

std::string group_memory_file(std::string_view folder, std::string_view group);
// A damaged file is as one that is not there.
std::optional<GroupMemory> load_group_memory(const std::string& folder, const std::string& group);
Status save_group_memory(const std::string& folder, const GroupMemory& memory);

// Members of a JSON object; nothing where they are not there, or cannot be.
void add_head(JsonWriter& json, const MetadataHead& head);
std::optional<MetadataHead> head_in(JsonView object, const std::string& group);

}  // namespace flexlocal::engine
