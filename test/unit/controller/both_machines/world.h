// The small world in which the controller's and the agents' decisions are enumerated together: one
// claim, its PersistentVolume, two orders of copies, two hosts, and what each side knows of them.
// Everything is a few bits, so that millions of such worlds can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "provisioner/agent/copy_plan.h"

namespace flexlocal::provisioner::test {

inline constexpr unsigned kSlots = 2;  // VolumeCopies that may be there at a time
inline constexpr unsigned kHosts = 2;

// A VolumeCopy in one of its versions. `current`, of what somebody knows: it still has that
// resourceVersion.
struct CopyBits {
  std::uint32_t there : 1;
  std::uint32_t uid : 2;  // counts the objects that have borne this name
  std::uint32_t node : 1;
  std::uint32_t existing : 1;    // its origin; else New
  std::uint32_t desired : 2;     // DesiredState
  std::uint32_t generation : 4;  // of the order
  std::uint32_t term : 2;
  std::uint32_t state : 4;  // CopyState
  std::uint32_t promised : 1;
  std::uint32_t made : 1;
  std::uint32_t used : 1;
  std::uint32_t observed : 4;
  std::uint32_t trouble : 1;   // a condition says what is in the way
  std::uint32_t given_up : 1;  // by its annotation
  std::uint32_t retain : 1;    // its reclaim policy; else Delete
  std::uint32_t current : 1;
};

enum class Phase : unsigned { kAvailable, kBound, kReleased };

struct VolumeBits {
  std::uint16_t there : 1;
  std::uint16_t slot : 1;  // the copy that it names
  std::uint16_t node : 1;
  std::uint16_t phase : 2;
  std::uint16_t deleting : 1;
  std::uint16_t held : 1;    // by our finalizer
  std::uint16_t retain : 1;  // its reclaim policy; else Delete
  std::uint16_t current : 1;
};

struct ClaimBits {
  std::uint8_t there : 1;
  std::uint8_t anew : 1;  // another claim of that name, with another uid
  std::uint8_t deleting : 1;
  std::uint8_t selected : 2;  // 0: no node; else the host's number + 1
  std::uint8_t bound : 1;
  std::uint8_t current : 1;
};

// What a host has, and what the agent has not looked at yet.
struct HostBits {
  std::uint32_t record : 3;  // RecordStage
  std::uint32_t record_slot : 1;
  std::uint32_t order_uid : 2;
  std::uint32_t order_generation : 4;
  std::uint32_t order_term : 2;
  std::uint32_t claim : 1;  // it names the claim whose pods may mount it
  std::uint32_t retained : 1;
  std::uint32_t disk : 3;  // DiskStage
  std::uint32_t disk_slot : 1;
  std::uint32_t tag_retained : 1;
  std::uint32_t open : 1;
  std::uint32_t data : 1;      // a pod had it mounted
  std::uint32_t used : 1;      // by the record one may have: see engine::Record::used
  std::uint32_t hopeless : 1;  // the agent's memory: making it failed for good
  std::uint32_t mounted_since_look : 1;
  std::uint32_t made_since_look : 1;
};

// A pass of the agent that is under way: the order as it was read, and what is to be carried out.
struct TurnBits {
  CopyBits copy;
  std::uint8_t on : 1;
  std::uint8_t slot : 1;
  std::uint8_t fresh : 1;
  std::uint8_t todo : 4;  // CopyAction
};

enum class WriteKind : unsigned {
  kNone,
  kCreateCopy,
  kOrder,       // a VolumeCopy's spec
  kAnswer,      // its status
  kRemoveCopy,  // the object
  kCreateVolume,
  kDeleteVolume,
  kRelease,  // our finalizer of the PersistentVolume
  kUnassign,
  kEndVolume,  // kDeleteVolume and kRelease, as ReplacementWorker sends them: for the copy `slot`
  kUnprotect   // also pv-protection's finalizer
};

// A request to the API server. `holds`: the version that it names is still the object's.
struct Write {
  CopyBits copy;
  std::uint8_t kind : 4;
  std::uint8_t slot : 1;
  std::uint8_t holds : 1;
};

// A pass of ReplacementWorker that has begun to put the copy `slot` in the place of another.
struct Replacing {
  std::uint8_t stage : 2;  // Stage
  std::uint8_t slot : 1;
  std::uint8_t node : 1;
  std::uint8_t holds : 1;  // as a write's
};
enum class Stage : unsigned { kNone, kLetsGo, kBinds };

// What may still happen in this run that need not.
struct Budget {
  std::uint8_t faults : 2;
  std::uint8_t silences : 2;   // a node that does not answer in time
  std::uint8_t refusals : 2;   // a node that has no room
  std::uint8_t deletions : 1;  // of the claim
  std::uint8_t rebirth : 1;    // of the claim
};

struct World {
  std::array<CopyBits, kSlots> copies;   // as the API server has them
  std::array<CopyBits, kSlots> ordered;  // as the controller knows them
  std::array<CopyBits, kSlots> heard;    // as the agent of its node does
  std::array<TurnBits, kHosts> turns;
  std::array<HostBits, kHosts> hosts;
  Write late;  // a request whose sender has given it up, and that may arrive still
  VolumeBits volume, known_volume;
  ClaimBits claim, known_claim;
  Budget left;
  Replacing replacing;
  struct Pod {
    std::uint8_t on : 1;
    std::uint8_t slot : 1;
    std::uint8_t node : 1;
    std::uint8_t forced : 1;  // its object is gone, and kubelet does not know that yet
  } pod;
  std::uint8_t second_host : 1;  // there is one
  std::uint8_t term : 2;
  std::uint8_t retains : 1;      // the class's reclaim policy; else Delete
  std::uint8_t written : 1;      // a pod of the claim has had its volume
  std::uint8_t left_behind : 2;  // by copy: a pod waits for it, and its claim has another
  // Disks were lost, or somebody took objects away: words are all that can be had then.
  std::uint8_t damaged : 1;
};

// Zeroed with whatever lies between its members, so that worlds can be compared as bytes.
template <typename T>
T blank() {
  T fields;
  std::memset(static_cast<void*>(&fields), 0, sizeof fields);
  return fields;
}

template <typename T>
bool same(const T& one, const T& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

template <typename T>
std::uint64_t bits_of(const T& fields) {
  static_assert(sizeof fields <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &fields, sizeof fields);
  return bits;
}

// Which parts of the world an exploration has, and how much may go wrong in one run.
struct Rules {
  unsigned hosts = kHosts;
  unsigned faults = 1;
  unsigned silences = 1;
  unsigned refusals = 1;
  bool claim_ends = true;
  bool claim_comes_again = false;
  bool only_late = false;  // no fault but that a request is under way for long
  bool retains = false;    // the class's reclaim policy
  bool gives_up = false;   // see CopyHand: a promise that cannot be kept
};

}  // namespace flexlocal::provisioner::test
