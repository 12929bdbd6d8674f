// What an agent tells of all copies on its host's disks, whatever orders say: an API server that
// was put back to an earlier time does not know them all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/json.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::provisioner {

// A copy that no order names. Of the volume it is told what tags say; its cluster is the agent's.
struct ToldCopy {
  engine::VolumeSpec volume;
  std::string claim_uid{};  // whose pods may mount it by its record; empty: nobody's
  bool ready = false;       // it may hold data
  bool retained = false;

  bool operator==(const ToldCopy&) const = default;
};

struct CopyRoll {
  std::string host{};            // id of the host that says so
  std::int64_t term = 0;         // the highest of a leader whose order was followed
  std::uint64_t count = 0;       // of the cluster's copies on the disks, or in records
  std::string digest{};          // of their ids, see digest_of()
  std::vector<ToldCopy> told{};  // those that no order names
  bool cut = false;              // there are more of them

  bool operator==(const CopyRoll&) const = default;
};

// No leader comes this far: whoever says so would stop all those after them.
inline constexpr std::int64_t kMostTerm = std::int64_t{1} << 52U;

// 32 hexadecimal digits, the same for the same ids in any order.
std::string digest_of(std::vector<std::string> copies);

// As an annotation's text, of kMostRollText at most: what is told beyond that is cut.
inline constexpr std::size_t kMostRollText = 64U << 10U;
std::string roll_text(const CopyRoll& roll);
// kInvalid when it is not one, or is longer than any that is written.
Result<CopyRoll> parse_roll(std::string_view text);

}  // namespace flexlocal::provisioner
