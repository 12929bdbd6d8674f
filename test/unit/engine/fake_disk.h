// A physical volume of LVM's as far as its header goes.
#pragma once

#include <cstdint>
#include <string>

#include "flexvolume/engine/lvm/metadata_head.h"

namespace flexlocal::engine {

struct FakeDisk {
  MetadataHead head;
  std::uint64_t area_offset = 4096;
  std::uint64_t area_size = 8192;
  std::uint64_t text_offset =
      512;  // within the area; the text goes on behind the header at its end
  std::uint32_t flags = 0;

  // Its first `area_offset` + `area_size` bytes.
  std::string bytes() const;
};

}  // namespace flexlocal::engine
