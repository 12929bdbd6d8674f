// What the daemon keeps of the API server's objects, and how it reads it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "flexvolume/base/json.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"
#include "provisioner/kube/event_correlator.h"
#include "provisioner/kube/keeping.h"
#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr std::string_view kProvisionedBy = "pv.kubernetes.io/provisioned-by";
inline constexpr std::string_view kNodeLabel = "flexlocal.io/node";
// On the CSIStorageCapacity objects of classes with volumeBindingMode Immediate: "true".
inline constexpr std::string_view kImmediateLabel = "flexlocal.io/immediate";
inline constexpr std::string_view kHostnameLabel = "kubernetes.io/hostname";
inline constexpr std::string_view kFinalizer = "flexlocal.io/reclaim";
// kube-controller-manager's, on a PersistentVolume whose claim is bound.
inline constexpr std::string_view kVolumeProtection = "kubernetes.io/pv-protection";
// Uid of the Node that a volume was made on: a Node made anew under its name is another node.
inline constexpr std::string_view kNodeUid = "flexlocal.io/node-uid";
// On a PersistentVolume: all that it was ordered with, see copy_order.h. Annotations may be edited,
// so that nothing is done by one that does not fit the rest of the object.
inline constexpr std::string_view kOrder = "flexlocal.io/order";
// A claim's condition: the volume has grown, its file system follows when kubelet mounts it next.
inline constexpr std::string_view kFileSystemResizePending = "FileSystemResizePending";
// A claim's condition since Kubernetes 1.31: the volume has not grown as the claim asks.
inline constexpr std::string_view kControllerResizeError = "ControllerResizeError";

struct Claim {
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string storage_class;
  std::string selected_node;
  std::string volume_name;  // bound, or asked for by name
  std::string volume_mode;
  std::string requested;  // a quantity, not checked yet
  std::string phase;
  std::string capacity;       // what its status says; a quantity, not checked yet
  std::string allocated;      // its status.allocatedResources.storage; a quantity, not checked yet
  std::string resize_status;  // its status.allocatedResourceStatuses.storage
  std::string resize_error;   // the message of its condition kControllerResizeError; empty: none
  std::vector<std::string> other_conditions;  // as JSON: those that growth has nothing to do with
  std::vector<std::string> access_modes;
  std::string attributes_class;  // of volume attributes
  bool has_data_source = false;
  bool has_selector = false;
  bool file_system_pending = false;  // kFileSystemResizePending
  bool deleting = false;
  // kube-controller-manager has said that it is ours to provision. One that is not marked may be
  // about to be, or is bound already: see ClaimPlan.
  bool marked = true;

  std::string key() const { return namespace_name + "/" + name; }

  // For stores: see kube::Packable.
  void pack(kube::Packer& packer) const;
  static Claim unpack(kube::Unpacker& unpacker);
};

struct Volume {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::string phase;
  std::string reclaim_policy;
  std::string provisioned_by;
  std::string node;  // our label
  std::string driver;
  std::string node_uid;  // our annotation; empty: somebody took it away
  std::string storage_class;
  std::string claim_namespace;
  std::string claim_name;
  std::string claim_uid;
  std::string capacity;
  Result<CopyOrder> order = order_of_annotation({});  // our annotation
  std::string copy;                                   // the option engine::kCopyOption
  std::vector<std::string> finalizers;
  std::vector<std::string> access_modes;
  bool deleting = false;
  bool migrated = false;

  // For stores: see kube::Packable.
  void pack(kube::Packer& packer) const;
  static Volume unpack(kube::Unpacker& unpacker);
};

// Labels that a node must have, each with one of these values.
using TopologyTerm = std::map<std::string, std::vector<std::string>>;

struct StorageClass {
  std::string name;
  std::string reclaim_policy;
  std::map<std::string, std::string> parameters;
  std::vector<std::string> mount_options;
  bool immediate = false;                          // its volumeBindingMode
  std::vector<TopologyTerm> allowed_topologies{};  // one of them must hold; none: anywhere
};

// nullopt: none of our business, and not kept. A claim is ours by its storage-provisioner
// annotation, which the volume controller sets; a volume by its provisioned-by annotation.
std::optional<Claim> decode_claim(JsonView object);
// The same; one without the annotation is ours, too, if its class is one of these.
using ClassNames = std::set<std::string, std::less<>>;
std::optional<Claim> decode_claim_of(JsonView object, const ClassNames& classes);
// decode_claim(), and every claim without a volume, whatever its class may turn out to be.
std::optional<Claim> decode_open_claim(JsonView object);
std::optional<Volume> decode_volume(JsonView object);
std::optional<StorageClass> decode_storage_class(JsonView object);

// Made by us, and not handed to another driver since.
bool is_ours(const Volume& volume);

// Our finalizer is on it: its data is not settled yet.
bool is_held(const Volume& volume);

// Of any object.
std::string uid_of(JsonView object);

// For events.
kube::ObjectReference reference_to(const Claim& claim);
kube::ObjectReference reference_to(const Volume& volume);
// The claim that the volume is for, whether it is known or not.
kube::ObjectReference reference_to_claim_of(const Volume& volume);

// Of a claim's or a PersistentVolume's list: the API server takes ReadWriteOncePod alone only
// (pkg/apis/core/validation), and beside another mode it would be the one that binds.
engine::AccessMode access_mode_of(const std::vector<std::string>& modes);

// The volume as the engine knows it, by the PV's order, whoever's claim it is for now; the access
// mode as the PV's list has it today.
// kInvalid, with what is to be done, when the order is missing or damaged, or is none of this PV.
Result<engine::VolumeSpec> stated_spec(const Volume& volume);
// The same. kInvalid also when its name and its claim's uid do not fit each other.
Result<engine::VolumeSpec> spec_of(const Volume& volume);

}  // namespace flexlocal::provisioner
