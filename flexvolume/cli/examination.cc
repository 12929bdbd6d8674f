#include "flexvolume/cli/examination.h"

#include "flexvolume/base/text.h"

namespace flexlocal::cli {
namespace {

using engine::Backend;
using engine::Record;
using engine::RecordState;

std::string lv_of(const VolumeView& view) { return concat(group_of(view), '/', view.name); }

Finding check_record(const VolumeView& view) {
  if (!view.record_error.empty())
    return {"record", Level::kError, view.record_error,
            view.lv && view.lv->ownership
                ? "the logical volume's tags say whose it is: move the file away, the record is "
                  "made anew from them"
                : "restore the file; until then the volume is not mounted"};
  if (view.record) return {"record", Level::kOk, concat("state ", to_string(view.record->state))};
  if (view.lv && !view.lv->ownership)
    return {"record", Level::kOk, "none: nothing was made here under this name"};
  if (view.lv && view.lv->ownership->ready)
    return {"record", Level::kWarning, "none on this host, but the tags say that there is data",
            "the node daemon writes it again from the tags within a minute: see whether it runs"};
  if (view.lv || view.folder)
    return {"record", Level::kWarning, "none on this host",
            "its next mount writes the record if the volume's file system is on it; without a "
            "record nothing is formatted"};
  return {"record", Level::kError, "none: there is nothing but a mount",
          "delete the pod that uses it; what it wrote is on the device that is mounted, see "
          "`findmnt`"};
}

Finding missing_volume(const VolumeView& view) {
  if (!view.looked)
    return {"volume", Level::kWarning, "could not be looked for",
            "see that `vgs` works on this node as root, and `flexlocal doctor`"};
  if (view.record->state <= RecordState::kIntent)
    return {"volume", Level::kOk, "not made yet: the next mount makes it"};
  if (view.record->state == RecordState::kWiping)
    return {"volume", Level::kOk, "gone: the node daemon removes the record as well"};
  if (view.record->spec.backend == Backend::kQuota)
    return {"volume", Level::kError, "its folder is not on any quota file system that is mounted",
            "mount the pool's file system; if the data is gone for good, delete the claim"};
  return {"volume", Level::kError,
          concat("logical volume ", lv_of(view), " is gone, although the record says that it is ",
                 to_string(view.record->state)),
          concat("bring back the disk that volume group \"", group_of(view),
                 "\" is on; if the data is gone for good, delete the claim")};
}

Finding check_volume(const VolumeView& view) {
  if (view.lv && !view.lv->ownership)
    return {"volume", Level::kError,
            concat("logical volume ", lv_of(view),
                   " has this name, but its tags do not say that flexlocal made it"),
            "it is somebody else's: rename it with lvrename, or remove it yourself"};
  if (view.lv)
    return {"volume", Level::kOk,
            concat("logical volume ", lv_of(view), view.lv->active ? ", active" : ", not active",
                   view.lv->open ? ", in use" : ", not in use")};
  if (view.folder) return {"volume", Level::kOk, concat("in ", view.folder->space)};
  if (view.record) return missing_volume(view);
  return {"volume", Level::kError, "no logical volume and no quota folder has this name",
          "see `flexlocal doctor` for a disk or a file system that is missing"};
}

// Two sources that should say the same.
void check_agreement(const VolumeView& view, std::vector<Finding>& findings) {
  if (!view.record || !view.lv || !view.lv->ownership) return;
  const Record& record = *view.record;
  const engine::Ownership& tags = *view.lv->ownership;
  if (record.spec.cluster_id != tags.cluster_id ||
      record.spec.claim_namespace != tags.claim_namespace)
    findings.push_back({"owner", Level::kError,
                        "record and tags name different clusters or namespaces",
                        "neither mounts nor removes it: find out whose it is; the tags were "
                        "written when it was made (`lvs -o +lv_tags`)"});
  if (record.spec.copy != tags.copy)
    findings.push_back({"copy", Level::kError, "record and tags name different copies",
                        "neither mounts nor removes it: find out which of the two is to be served "
                        "(`lvs -o +lv_tags`)"});
  if (record.state > RecordState::kIntent && record.device_uuid != view.lv->device_uuid)
    findings.push_back(
        {"device", Level::kError, "this is not the logical volume that the record was written for",
         "it was replaced or restored by hand: nothing is formatted; if its data is "
         "the right one, move the record away, and the node daemon writes it anew from the tags"});
  if (tags.ready && record.state == RecordState::kNew)
    findings.push_back({"state", Level::kWarning, "the tags say ready and the record says new",
                        "the next mount looks at the device and settles it"});
}

void check_progress(const VolumeView& view, std::vector<Finding>& findings) {
  if (is_retained(view))
    findings.push_back({"retained", Level::kOk,
                        "its PersistentVolume was deleted under the policy Retain; it stays until "
                        "somebody removes it or creates the PersistentVolume again"});
  if (!view.record) return;
  if (view.record->claim_uid.empty())
    findings.push_back({"claim", Level::kWarning, "the record names no claim",
                        "no pod mounts it until the node daemon has completed the record from the "
                        "PersistentVolume: see whether it runs"});
  if (view.record->grow_file_system)
    findings.push_back({"growth", Level::kWarning,
                        "the device has grown and its file system has not yet",
                        "the next mount, or kubelet's next call, grows it"});
  if (const auto percent = wiped_percent(view))
    findings.push_back({"wiping", Level::kOk,
                        concat(*percent, " % done; the node daemon goes on until it is removed")});
}

void check_usage(const VolumeView& view, std::vector<Finding>& findings) {
  constexpr std::uint64_t kNearlyFullPercent = 90;
  for (const MountPlace& place : view.mounts) {
    if (!place.usage || place.usage->size.count() == 0) continue;
    const std::uint64_t hundredth = place.usage->size.count() / 100;
    if (hundredth == 0 || place.usage->used.count() / hundredth < kNearlyFullPercent) return;
    findings.push_back(
        {"usage", Level::kWarning,
         concat(to_string(place.usage->used), " of ", to_string(place.usage->size), " used"),
         "its pod gets ENOSPC when it is full: delete data, or let the claim grow"});
    return;
  }
}

}  // namespace

std::vector<Finding> examine(const VolumeView& view) {
  std::vector<Finding> findings = {check_volume(view), check_record(view)};
  check_agreement(view, findings);
  check_progress(view, findings);
  check_usage(view, findings);
  return findings;
}

}  // namespace flexlocal::cli
