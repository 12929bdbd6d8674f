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

namespace flexlocal::engine {

inline constexpr std::string_view kProvisioner = "flexlocal.io";
inline constexpr std::string_view kDriver = "flexlocal.io/flexlocal";
// kubelet turns the driver's slash into a tilde for folders (pkg/util/strings EscapeQualifiedName).
inline constexpr std::string_view kDriverFolder = "flexlocal.io~flexlocal";

// What a volume is made of.
enum class Backend { kLvm };
enum class FsType { kXfs };
std::string_view to_string(Backend backend);
std::string_view to_string(FsType type);
// kInvalid names what is accepted.
Result<Backend> parse_backend(std::string_view text);
Result<FsType> parse_fs_type(std::string_view text);

// The smallest file system each type can be made with. mkfs.xfs refuses less than 300 MiB since
// xfsprogs 5.19 (mkfs/xfs_mkfs.c, validate_supported).
Bytes smallest(FsType type);

// "pvc-<claim uid>", the name of PV, LV and record alike. Nothing else is ever a volume of ours,
// so a name that parses is safe in a path, an argument and a tag.
class VolumeName {
 public:
  static Result<VolumeName> parse(std::string_view text);
  static Result<VolumeName> of_claim(std::string_view uid);

  const std::string& text() const { return text_; }
  std::string claim_uid() const { return text_.substr(4); }
  bool operator==(const VolumeName&) const = default;

 private:
  explicit VolumeName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// RFC 4122 text form, lower case, as Kubernetes writes uids.
bool is_uuid(std::string_view text);
// RFC 1123 label: what names a namespace, and a pool.
bool is_dns_label(std::string_view text);
// man lvm, "VALID NAMES"; and it never starts with a hyphen.
bool is_volume_group_name(std::string_view text);

// What the provisioner decided and the plugin carries out.
struct VolumeSpec {
  VolumeName name;
  std::string cluster_id;       // uid of the namespace kube-system
  std::string claim_namespace;  // only pods of this namespace may mount
  std::string pool;             // a pool of node.conf
  Backend backend = Backend::kLvm;
  FsType fs_type = FsType::kXfs;
  Bytes size;
};

using Options = std::map<std::string, std::string>;

// The spec as PV options; the file system's type is a field of the PV of its own.
Options to_options(const VolumeSpec& spec);

// Back from what kubelet hands to a call: the volume's options merged with kubelet's own keys.
// kInvalid says which key is missing or wrong. The driver's keys that are not known are refused:
// they would be promises that this version does not keep.
Result<VolumeSpec> parse_options(const Options& options);

// Keys that kubelet adds to every call (pkg/volume/flexvolume/driver-call.go).
inline constexpr std::string_view kKubeletFsType = "kubernetes.io/fsType";
inline constexpr std::string_view kKubeletReadWrite = "kubernetes.io/readwrite";
inline constexpr std::string_view kKubeletVolumeName = "kubernetes.io/pvOrVolumeName";
inline constexpr std::string_view kKubeletPodName = "kubernetes.io/pod.name";
inline constexpr std::string_view kKubeletPodNamespace = "kubernetes.io/pod.namespace";

// What an LV's tags say of it: the durable truth about whose it is.
struct Ownership {
  std::string cluster_id;
  std::string claim_uid;
  std::string claim_namespace;
  FsType fs_type = FsType::kXfs;
  std::string pool;
  Bytes size;           // as the provisioner decided it
  bool ready = false;   // the file system was complete and may hold data
  std::string attempt;  // which lvcreate made it: compares with the record of a killed call
};

inline constexpr std::string_view kOwnerTag = "flexlocal.io/owner=flexlocal";
inline constexpr std::string_view kNewTag = "flexlocal.io/state=new";
inline constexpr std::string_view kReadyTag = "flexlocal.io/state=ready";

std::vector<std::string> to_tags(const VolumeSpec& spec, std::string_view attempt);
// Nothing when the tags are not all there: the LV is then a stranger's.
std::optional<Ownership> parse_tags(const std::vector<std::string_view>& tags);
// Whether an LV with these tags is this volume. The size is not compared: a volume of ours that was
// made with another size is still ours to remove.
bool owns(const Ownership& ownership, const VolumeSpec& spec);

// "/dev/mapper/<vg>-<lv>" with hyphens doubled, as libdevmapper builds names.
std::string device_path(std::string_view volume_group, const VolumeName& name);

}  // namespace flexlocal::engine
