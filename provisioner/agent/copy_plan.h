// What the agent of a node does about the order of a copy: a pure decision over the order, what the
// API server has as its answer, and what this host has.
#pragma once

#include <cstdint>
#include <string>

#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

// The host's record of the volume.
enum class RecordStage {
  kNone,
  kDamaged,   // there is one that cannot be read, or there are two things of the volume's name
  kPromised,  // nothing is made yet
  kMaking,    // it was begun
  kReady,     // it was complete and may hold data
  kWiping,    // its removal has begun
  kRefused    // a promise that could not be kept, and that no pod had mounted
};

// What bears the volume's name on the disks: a logical volume or a folder.
enum class DiskStage {
  kUnseen,  // the disks cannot be looked at now
  kNone,
  kForeign,  // by its tags it is none of this cluster's volumes
  kMaking,   // by its tags it was not complete
  kReady,
  kWiping
};

// Whether it is a volume of this cluster's, by its tags.
constexpr bool is_ours(DiskStage disk) {
  return disk == DiskStage::kMaking || disk == DiskStage::kReady || disk == DiskStage::kWiping;
}

// What a host has of one volume.
struct HostCopy {
  RecordStage record = RecordStage::kNone;
  std::string record_copy{};  // which copy the record is of
  std::string order_uid{};    // the object whose order the record says, and its generation
  std::int64_t order_generation = 0;
  std::int64_t order_term = 0;  // of the leader that gave it
  // As the record says who may mount it: pods of this claim's namespace, in this mode; or nobody.
  std::string claim_uid{};
  std::string claim_namespace{};
  engine::AccessMode access_mode = engine::AccessMode::kReadWriteOnce;
  bool retained = false;         // by record or tags
  bool partly_retained = false;  // by one of them only, though both are there
  DiskStage disk = DiskStage::kNone;
  std::string unseen_why{};  // what was wrong with the disks; empty: not known, or nothing
  std::string disk_copy{};   // which copy its tags say
  bool open = false;         // somebody has it mounted, or open
  Bytes size{};              // what the disk holds
  bool behind = false;       // its file system grows to that at the next mount
  bool hopeless = false;     // making it failed in a way that another try does not mend
  bool used = true;          // a pod may have had what is here; see engine::Record::used
};

// How well the order is known.
struct CopyView {
  const VolumeCopy* copy = nullptr;  // none: no order names what the host has
  // It was read from the API server itself after the host was looked at, not from a watch, which
  // may lag behind.
  bool fresh = false;
  // The API server may have been put back to what it was before: an order of an earlier leader's
  // term came, or a version went back, and no leader has called the roll since.
  bool in_doubt = false;
};

enum class CopyAction {
  kNone,
  kReadAnew,  // the order is to be read from the API server itself, and decided on again
  kPromise,   // judge room, budget and pool; then write the record, or refuse
  kAdopt,     // write the record that the tags speak for, as the order says
  kRecord,    // bring record and tags to what the order says of claim, access mode and generation
  kMake,      // make it ahead of its pod
  kGrow,
  kRetain,    // say in the record that nobody may mount it
  kRelease,   // take that back
  kClose,     // say in the record that no claim may mount it: it is to be removed, and is open
  kRemove,    // wipe as ordered; last of all the record goes
  kWithdraw,  // take the record away, of which nothing was made
  kGiveUp     // turn the record from promised to refused
};

// Why a copy is not what its order says, and stays so until something else changes. `kNone`: it is,
// or is on its way.
enum class CopyTrouble {
  kNone,
  kNotUnderstood,  // the order, or the status, is of a version that this one does not know
  kNotHere,        // the order is of another node, or of another cluster
  kDeleting,       // the object is being deleted
  kUnseen,         // the disks cannot be looked at now
  kInDoubt,        // see CopyView: nothing is done that cannot be undone
  kRolledBack,     // the order is older than one that was followed
  kAnotherCopy,    // another copy of the volume has its place here
  kForeign,        // a logical volume or folder of its name is not flexlocal's
  kDamaged,        // record, tags and what was said of it contradict one another
  kRefused,        // it was refused before, for the reason that was said then
  kGone,           // it was promised, and the disk does not have it
  kNothing,        // it is to be kept, and was never here
  kWipeBegun,      // it was being removed when the order was changed
  kWiped,          // it was removed by then
  kBusy            // it cannot be removed, or given to another claim, while somebody has it open
};

struct CopyPlan {
  CopyAction action = CopyAction::kNone;
  CopyState state = CopyState::kUnsaid;  // where the copy stands before the action
  CopyTrouble trouble = CopyTrouble::kNone;

  bool operator==(const CopyPlan&) const = default;
};

// Who decides.
struct AgentIdentity {
  std::string node;      // of the Node
  std::string node_uid;  // of the Node as it is now
  std::string cluster_id;
};

// A copy is promised only where nobody has promised it and nothing was ever said of it, for a copy
// that was promised and is not here was lost: an empty volume must not take its place. It is made
// only from a record, and once the API server knows of the promise. Nothing is removed but by an
// order that says so now. What no order names is left as it is: the controller decides about that.
CopyPlan plan_copy(const CopyView& view, const AgentIdentity& self, const HostCopy& host);

}  // namespace flexlocal::provisioner
