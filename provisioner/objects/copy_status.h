// What the agent of a node answers to the order of a copy: the status of a VolumeCopy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/clock.h"
#include "flexvolume/base/json.h"

namespace flexlocal::provisioner {

// Where a copy stands, as its agent said last.
enum class CopyState {
  kUnsaid,    // the agent has said nothing yet
  kPromised,  // the record is written, nothing is made yet
  kReady,     // it is made and can be mounted
  kRetained,
  kRemoving,
  kRemoved,
  kRefused,  // the node cannot have it, the condition says why
  kLost,     // it was promised, and neither record nor disk know of it
  kUnknown   // a word that this version does not know
};

// The condition that says whether the copy is as its order says. It is absent until it once was
// not. The other one is kFileSystemResizePending: the file system grows at the next mount.
inline constexpr std::string_view kAsOrdered = "AsOrdered";
// Its reason where a copy cannot have the size that is ordered.
inline constexpr std::string_view kNotGrown = "NotGrown";
// And where a part of its data is wiped.
inline constexpr std::string_view kPartlyWiped = "WipeBegun";

// As Kubernetes' conditions: k8s.io/apimachinery/pkg/apis/meta/v1, Condition.
struct CopyCondition {
  std::string type;
  bool holds = false;
  std::string reason;   // one word
  std::string message;  // for a person
  Clock::Wall since{};  // when `holds` changed last, to whole seconds

  bool operator==(const CopyCondition&) const = default;
};

struct CopyStatus {
  CopyState state = CopyState::kUnsaid;
  // Whether it was ever promised: never taken back, so that an order that is given up is known from
  // one that a pod may have written to. Each state says so that is_of_promised().
  bool promised = false;
  // Whether it was ever made: never taken back either. What was made and is not here is lost, also
  // where a record of the time of the promise has come back.
  bool made = false;
  // Whether its host ever noted a pod: never taken back, for a record that is put back forgets it.
  bool used = false;
  Bytes size{};  // what the disk holds
  bool mounted = false;
  Bytes wiped{};     // of size, while it is removed
  std::string host;  // id of the host that says so
  std::int64_t observed_generation = 0;
  std::vector<CopyCondition> conditions{};

  bool operator==(const CopyStatus&) const = default;
};

// The API's word for it; empty: it has none.
std::string_view word_of(CopyState state);

// Whether a copy in that state was promised once, or found on the disks.
bool is_of_promised(CopyState state);

// The condition of that type; nullptr: there is none.
const CopyCondition* find_condition(const CopyStatus& status, std::string_view type);

// Puts `condition` in place of the one of its type. `since` stays what it was unless `holds`
// changes; `now` is taken then.
void set_condition(CopyStatus& status, CopyCondition condition, Clock::Wall now);

// What is missing or makes no sense reads as absent, a state that is not known as kUnknown.
CopyStatus parse_status(JsonView status);
// The status as an object for a merge patch. What is not set is null, and so taken away, but for
// that it was promised, made or used, and for a state that is not known here: those stay as they
// are.
void write_status(JsonWriter& json, const CopyStatus& status);

}  // namespace flexlocal::provisioner
