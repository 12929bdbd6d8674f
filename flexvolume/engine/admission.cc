#include "flexvolume/engine/admission.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr Bytes kMostClusterText{64};

Status check_namespace(const std::string& pod_namespace, const Record& record) {
  if (pod_namespace == record.spec.claim_namespace) return {};
  return Error(ErrorCode::kDenied, concat("the volume is of another namespace; a pod of \"",
                                          printable(pod_namespace, 63), "\" may not mount it"));
}

Status check_copy(const VolumeCall& call, const Record& record) {
  if (call.copy == record.spec.copy) return {};
  return Error(ErrorCode::kDenied,
               concat("the PersistentVolume, or the pod's author, names copy \"", call.copy,
                      "\" of the volume; this node has copy \"", record.spec.copy, '"'));
}

// Whether anybody may have it now.
Status check_open(const Record& record) {
  if (record.state == RecordState::kRefused) return given_up(record.spec.name);
  if (record.state == RecordState::kWiping)
    return Error(ErrorCode::kDenied, "the volume is being removed and is not mounted");
  if (record.retained)
    return Error(ErrorCode::kUnavailable,
                 "the volume is retained: create its PersistentVolume again to use it");
  if (!record.claim_uid.empty()) return {};
  return Error(ErrorCode::kUnavailable,
               "the volume's record names no claim: its PersistentVolume was released, or the "
               "record was lost and made anew from the disk; the node daemon completes it by the "
               "volume's order, and the mount is tried again");
}

}  // namespace

// Volumes of a cluster that the host was in before may still be on its disks.
Status Admission::check_cluster(const Record& record) const {
  const auto cluster = read_file(cluster_file_, kMostClusterText);
  if (!cluster && cluster.error().code() == ErrorCode::kNotFound) return {};
  if (!cluster) return cluster.error().context("looking which cluster this node is of");
  if (*cluster == record.spec.cluster_id) return {};
  return Error(ErrorCode::kDenied, "the volume is of another cluster than this node");
}

Status Admission::join_cluster(const std::string& cluster_id) const {
  if (!is_uuid(cluster_id))
    return Error(ErrorCode::kInvalid,
                 concat('"', printable(cluster_id, 40), "\" is not the uid of a cluster"));
  const auto known = read_file(cluster_file_, kMostClusterText);
  if (known && *known == cluster_id) return {};
  const std::string folder = cluster_file_.substr(0, cluster_file_.rfind('/'));
  if (auto made = make_folders(folder); !made) return made;
  return write_file_atomically(cluster_file_, cluster_id, 0600);
}

Result<Record> Admission::load(const VolumeName& name) const {
  auto record = records_.load(name);
  if (!record) return record.error();
  if (!*record) return unpromised(name);
  return std::move(**record);
}

// The namespace before the copy, so that a stranger learns nothing of the volume.
Result<Record> Admission::admit(const VolumeCall& call, const std::string& pod_namespace) const {
  auto record = load(call.name);
  if (!record) return record;
  Status allowed = check_cluster(*record);
  if (allowed) allowed = check_namespace(pod_namespace, *record);
  if (allowed) allowed = check_copy(call, *record);
  if (auto counted = count(allowed); !counted) return counted.error();
  if (auto open = check_open(*record); !open) return open.error();
  return record;
}

Result<Record> Admission::admit_growth(const VolumeCall& call) const {
  auto record = load(call.name);
  if (!record) return record;
  Status allowed = check_cluster(*record);
  if (allowed) allowed = check_copy(call, *record);
  if (auto counted = count(allowed); !counted) return counted.error();
  return record;
}

// A count that cannot be kept is no reason to say anything else.
Status Admission::count(const Status& allowed) const {
  if (allowed || allowed.error().code() != ErrorCode::kDenied) return allowed;
  if (auto counted = refusals_.note_one(); !counted)
    log_.warning("refused call could not be counted", {{"error", counted.error().message()}});
  return allowed;
}

}  // namespace flexlocal::engine
