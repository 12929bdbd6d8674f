// What the controller orders of one copy of a volume: the spec of a VolumeCopy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flexvolume/base/json.h"
#include "flexvolume/engine/contract/contract.h"
#include "provisioner/accounting/budget.h"
#include "provisioner/kube/keeping.h"

namespace flexlocal::provisioner {

// Where the data of a copy comes from.
enum class Origin {
  kNew,       // it is made empty: nobody had the volume before
  kExisting,  // it is on the node's disks already
  kReceived   // another copy's is sent to it
};

enum class DesiredState {
  kServing,   // pods of the claim's namespace may mount it
  kRetained,  // it is kept, and nobody may mount it
  kRemoved,   // it is wiped as onDelete says, and gone
  // Nobody needs it any more, unless a pod has had it: removed if none has, by its host's record,
  // else retained.
  kWithdrawn
};

// Nothing of it is to be left; but of what is withdrawn, what a pod may have had.
constexpr bool is_to_go(DesiredState desired) {
  return desired == DesiredState::kRemoved || desired == DesiredState::kWithdrawn;
}
// What there is of it then is kept, and no pod gets it.
constexpr bool is_to_be_kept(DesiredState desired) {
  return desired == DesiredState::kRetained || desired == DesiredState::kWithdrawn;
}

struct CopyOrder {
  explicit CopyOrder(engine::VolumeName name)
      : volume{.name = std::move(name), .cluster_id = {}, .claim_namespace = {}, .pool = {}} {}

  // Size, backend, pool and what else it is made of, and which copy it is; its namespace is the
  // claim's.
  engine::VolumeSpec volume;
  Origin origin = Origin::kNew;
  std::string node;  // name of the Node
  std::string claim_uid;
  // These five may be empty only where a copy that was found is kept or removed, for a host's disks
  // do not say them.
  std::string node_uid;  // of the Node that the volume was made on
  std::string hostname;  // its label kubernetes.io/hostname, for the PersistentVolume's affinity
  std::string claim_name;
  std::string storage_class;
  std::string reclaim_policy;           // "Delete" or "Retain"
  std::optional<Ratio> disk_per_ram{};  // nullopt: what the node says
  DesiredState desired = DesiredState::kServing;
  // Of the leader that ordered it: larger than its predecessor's, and than that of every order
  // there is, for the Lease that counts terms may have been made anew.
  std::int64_t term = 0;

  // For stores: see kube::Packable.
  void pack(kube::Packer& packer) const;
  static CopyOrder unpack(kube::Unpacker& unpacker);
};

// kInvalid, naming the field, for one that is missing, malformed or not known to this version: an
// order that is not understood as a whole is not carried out in parts.
Result<CopyOrder> parse_order(JsonView spec);
// The spec as an object.
void write_order(JsonWriter& json, const CopyOrder& order);
// The same order with each field that may be left out: no order says more.
CopyOrder with_every_field(CopyOrder order);

// Of the text of an order, which is what an annotation of a PersistentVolume can hold. Every order
// is far shorter.
inline constexpr std::size_t kMostOrderText = 16UL * 1024;
// The same two for an order that stands alone, as text.
Result<CopyOrder> parse_order_text(std::string_view text);
std::string order_text(const CopyOrder& order);
// What the annotation says. kNotFound for none, or for one that is too long to be one; kInvalid for
// what somebody has damaged. The errors go on behind "annotation ...".
Result<CopyOrder> order_of_annotation(std::string_view text);

// For stores, of what has one.
void pack(kube::Packer& packer, const Result<CopyOrder>& order);
Result<CopyOrder> unpack_order(kube::Unpacker& unpacker);

}  // namespace flexlocal::provisioner
