#include "flexvolume/engine/lvm/lv_refusal.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/lvm/lvm.h"

namespace flexlocal::engine {
namespace {

Error unrecorded_pool(const std::string& lv) {
  return Error(ErrorCode::kDenied,
               concat("logical volume ", lv,
                      " is the pool's by its tags, but carries no file system "
                      "of it, and no record says what it was; remove it if nobody needs it"));
}

}  // namespace

Error lv_refusal(Step step, const VolumeSpec& spec, const std::string& group) {
  const std::string lv = concat(group, '/', spec.name.text());
  const std::string device = device_path(group, spec.name.text());
  switch (step) {
    case Step::kRefuseWiping:
      return Error(ErrorCode::kDenied,
                   "the volume is being removed and its blocks are wiped; it cannot be mounted any "
                   "more");
    case Step::kRefuseForeign:
      return Error(
          ErrorCode::kDenied,
          concat("logical volume ", lv, " exists, but its tags do not say that it belongs to this ",
                 spec.name.is_of_pool() ? "pool" : "claim",
                 "; rename or remove it if nobody needs it"));
    case Step::kRefuseUnknown:
      return spec.name.is_of_pool() ? unrecorded_pool(lv) : unpromised(spec.name);
    case Step::kRefuseGone:
      return Error(ErrorCode::kCorrupt,
                   concat("logical volume ", lv, " held data and is gone; is a disk missing?"));
    case Step::kRefuseNode:
      return Error(ErrorCode::kCorrupt, concat(device, " is not the device of logical volume ", lv,
                                               "; compare `dmsetup info` with `lvs -o+lv_uuid`"));
    default:
      return Error(ErrorCode::kCorrupt,
                   concat("logical volume ", lv,
                          " is ours but carries no readable file system "
                          "of this claim; it is not formatted, look at it with `blkid -p ",
                          device, '`'));
  }
}

Error half_made(const std::string& group, const VolumeName& name) {
  const std::string lv = concat(group, '/', name.text());
  return Error(ErrorCode::kCorrupt,
               concat("a killed lvcreate left logical volume ", lv,
                      " half made, with nothing on it; remove it with `lvremove ", lv, '`'));
}

Error other_size(const VolumeSpec& spec, Bytes size) {
  return Error(ErrorCode::kDenied,
               concat("the volume on this node was made with ", to_string(size), ", but ",
                      spec.name.is_of_pool() ? "its record" : "the PersistentVolume", " says ",
                      to_string(spec.size), "; it is not mounted"));
}

}  // namespace flexlocal::engine
