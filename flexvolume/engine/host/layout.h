// How a pool's thick volumes lie on the disks of its volume group, and what that costs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

struct Layout {
  enum class Kind { kLinear, kStriped, kRaid1 };
  Kind kind = Kind::kLinear;
  unsigned stripes = 1;  // of kStriped: at least 2

  bool operator==(const Layout&) const = default;
};

// "linear", "striped:N" with N from 2 to 128 (man lvcreate), "raid1". kInvalid lists them.
Result<Layout> parse_layout(std::string_view text);
std::string to_string(const Layout& layout);

// On how many different disks each volume lies.
unsigned disks_needed(const Layout& layout);

// What lvcreate is told, so that it never falls back to another layout.
std::vector<std::string> lvcreate_arguments(const Layout& layout);

// The size that LVM makes of `size`: whole extents, the same number in every stripe.
Bytes real_size(const Layout& layout, Bytes size, Bytes extent);

// What a volume of `size` takes from the group's free space: a mirror counts twice, and each of
// its halves has one extent of metadata (man lvmraid).
Bytes cost(const Layout& layout, Bytes size, Bytes extent);

// The largest volume that fits on disks with this much free each; zero when they are too few.
// Exact for linear; for the others what one allocation surely gets.
Bytes largest(const Layout& layout, std::vector<Bytes> free_of_disks, Bytes extent);

}  // namespace flexlocal::engine
