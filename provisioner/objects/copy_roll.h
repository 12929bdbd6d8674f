// What an agent tells of the copies on its host's disks that no order names: an API server that was
// put back to an earlier state does not know them all. Which orders the agent saw when it said so
// is told with it, for a watch may lag behind.
#pragma once

#include <cstddef>
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
  std::string claim_uid{};   // whose pods may mount it by its record; empty: nobody's
  std::string claim_name{};  // of the claim that it was ordered for last; empty: not known
  bool ready = false;        // it may hold data
  bool retained = false;

  bool operator==(const ToldCopy&) const = default;
};

struct CopyRoll {
  std::string host{};            // id of the host that says so
  std::int64_t term = 0;         // the highest of a leader whose order was followed
  std::string orders{};          // which VolumeCopies the agent sees, see digest_of()
  std::vector<ToldCopy> told{};  // what is on the disks, or in records, that none of them names
  bool cut = false;              // there are more of them
  // Ids of copies that were promised not long ago, the latest last, which the figures beside the
  // roll have. What makes no sense is left out, and what has no room.
  std::vector<std::string> counted{};

  bool operator==(const CopyRoll&) const = default;
};

// No leader comes this far: whoever says so would stop all those after them.
inline constexpr std::int64_t kMostTerm = std::int64_t{1} << 52U;

// So many are said to be counted: who does not find a copy there takes it for counted after a
// while.
inline constexpr std::size_t kMostCounted = 512;

// Of the names of VolumeCopies: 32 hexadecimal digits, the same for the same names in any order.
std::string digest_of(std::vector<std::string> names);

// As an annotation's text, of kMostRollText at most: what is told beyond that is cut.
inline constexpr std::size_t kMostRollText = 64U << 10U;
std::string roll_text(const CopyRoll& roll);
// kInvalid when it is not one, or is longer than any that is written.
Result<CopyRoll> parse_roll(std::string_view text);

}  // namespace flexlocal::provisioner
