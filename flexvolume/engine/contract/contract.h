// The volume contract: every option key, LV name, tag, device path and folder name that the two
// programs share is built and parsed here and nowhere else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/volume_kinds.h"
#include "flexvolume/engine/contract/volume_name.h"

namespace flexlocal::engine {

inline constexpr std::string_view kProvisioner = "flexlocal.io";
inline constexpr std::string_view kDriver = "flexlocal.io/flexlocal";
// kubelet turns the driver's slash into a tilde for folders (pkg/util/strings EscapeQualifiedName).
inline constexpr std::string_view kDriverFolder = "flexlocal.io~flexlocal";

// What the provisioner decided and the plugin carries out.
struct VolumeSpec {
  VolumeName name;
  std::string copy{};      // which copy of the volume it is, see is_copy_id(); a pool's has none
  std::string cluster_id;  // uid of the namespace kube-system
  std::string claim_namespace;  // only pods of this namespace may mount
  std::string pool;             // a pool of node.conf
  Backend backend = Backend::kLvm;
  FsType fs_type = FsType::kXfs;
  Bytes size{};  // as first decided: growth is not written here
  OnDelete on_delete = OnDelete::kDiscard;
  IoLimits limits{};
  std::vector<std::string> mount_options{};
  AccessMode access_mode = AccessMode::kReadWriteOnce;

  bool operator==(const VolumeSpec&) const = default;
};

using Options = std::map<std::string, std::string>;

// The one option of a PersistentVolume: which copy of the volume it stands for. All else that a
// mount needs is in the host's record, since a pod's author may write any option.
inline constexpr std::string_view kCopyOption = "flexlocal.io/copy";

// The volume that a call of kubelet's is for.
struct VolumeCall {
  VolumeName name;
  std::string copy;
};

// From what kubelet hands to a call: the volume's options merged with kubelet's own keys. kInvalid
// says which key is missing or wrong. The driver's keys that are not known are refused: they would
// be promises that this version does not keep.
Result<VolumeCall> parse_options(const Options& options);

// Keys that kubelet adds to every call (pkg/volume/flexvolume/driver-call.go).
inline constexpr std::string_view kKubeletFsType = "kubernetes.io/fsType";
inline constexpr std::string_view kKubeletReadWrite = "kubernetes.io/readwrite";
inline constexpr std::string_view kKubeletVolumeName = "kubernetes.io/pvOrVolumeName";
inline constexpr std::string_view kKubeletPodName = "kubernetes.io/pod.name";
inline constexpr std::string_view kKubeletPodNamespace = "kubernetes.io/pod.namespace";
inline constexpr std::string_view kKubeletPodUid = "kubernetes.io/pod.uid";

// Whether both are the same copy of the same claim's volume, whatever its size.
bool is_of(const VolumeSpec& one, const VolumeSpec& other);

// What an LV's tags say of it: the durable truth about whose it is.
struct Ownership {
  std::string copy{};
  std::string cluster_id;
  std::string claim_uid;
  std::string claim_namespace;
  FsType fs_type = FsType::kXfs;
  std::string pool;
  OnDelete on_delete = OnDelete::kDiscard;
  Bytes size;             // as the provisioner decided it
  bool ready = false;     // the file system was complete and may hold data
  bool wiping = false;    // its removal has begun: it is never mounted again
  bool retained = false;  // see Retained
  std::string attempt;    // which lvcreate made it: compares with the record of a killed call
  bool shared = false;    // of the pool's shared file system: it has neither cluster nor claim
};

inline constexpr std::string_view kOwnerTag = "flexlocal.io/owner=flexlocal";
inline constexpr std::string_view kNewTag = "flexlocal.io/state=new";
inline constexpr std::string_view kReadyTag = "flexlocal.io/state=ready";
inline constexpr std::string_view kWipingTag = "flexlocal.io/state=wiping";

// Beside any state.
inline constexpr std::string_view kRetainedTag = "flexlocal.io/retained";

// Whether the volume's PersistentVolume was let go by the policy Retain: its data is kept for a
// person to decide about, and nobody may take it for a leftover. No pod mounts it, and it is
// removed as ever, by whoever may do that.
enum class Retained { kNo, kYes };

// What is to be made for a pool with quota-size.
VolumeSpec shared_spec(const std::string& pool, Bytes size);

std::vector<std::string> to_tags(const VolumeSpec& spec, std::string_view attempt);
// Nothing when the tags are not all there, or contradict one another: the LV is then a stranger's.
std::optional<Ownership> parse_tags(const std::vector<std::string_view>& tags);
// What tags say of a claim's volume; limits, mount options and the access mode are not among it.
// kInvalid for one of a pool's.
Result<VolumeSpec> spec_by_tags(const Ownership& ownership, Backend backend);
// Whether an LV with these tags is this copy of the volume. The size is not compared: a volume of
// ours that was made with another size is still ours to remove.
bool owns(const Ownership& ownership, const VolumeSpec& spec);

}  // namespace flexlocal::engine
