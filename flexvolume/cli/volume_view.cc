#include "flexvolume/cli/volume_view.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::cli {
namespace {

using engine::Backend;

constexpr std::string_view kQuotaSpace = "quota:";

// "<kubelet dir>/pods/<pod uid>/volumes/flexlocal.io~flexlocal/<volume>", by its end: kubelet's
// folder may be a link, and the mount table shows where it leads.
struct KubeletPlace {
  std::string volume;
  std::string pod_uid;
};
std::optional<KubeletPlace> kubelet_place(std::string_view mount_point) {
  const auto parts = split(mount_point, '/');
  const std::size_t count = parts.size();
  if (count < 5 || parts[count - 5] != "pods" || parts[count - 3] != "volumes" ||
      parts[count - 2] != engine::kDriverFolder)
    return std::nullopt;
  return KubeletPlace{std::string(parts[count - 1]), std::string(parts[count - 4])};
}

class Merger {
 public:
  explicit Merger(const NodeView& node) : node_(node) {}

  std::vector<VolumeView> run(const AskUsage& ask_usage) {
    if (node_.inventory) add_inventory(*node_.inventory);
    for (const RecordEntry& entry : node_.records) add_record(entry);
    for (const engine::MountEntry& mount : node_.mounts) add_mount(mount, ask_usage);
    for (VolumeView& view : views_) view.looked = node_.inventory.ok();
    std::sort(views_.begin(), views_.end(), [](const VolumeView& a, const VolumeView& b) {
      return std::pair(a.name, group_of(a)) < std::pair(b.name, group_of(b));
    });
    return std::move(views_);
  }

 private:
  VolumeView& add(std::string name) {
    views_.push_back({.name = std::move(name)});
    return views_.back();
  }

  VolumeView* find(const std::function<bool(const VolumeView&)>& wanted) {
    const auto found = std::find_if(views_.begin(), views_.end(), wanted);
    return found == views_.end() ? nullptr : &*found;
  }

  void add_inventory(const engine::Inventory& inventory) {
    for (const engine::LogicalVolume& volume : inventory.volumes) add(volume.name).lv = volume;
    for (const engine::Holding& holding : inventory.holdings) {
      if (holding.space.starts_with(kQuotaSpace)) add(holding.volume).folder = holding;
    }
  }

  void add_record(const RecordEntry& entry) {
    VolumeView* view = find([&](const VolumeView& v) {
      if (v.name != entry.name.text() || v.record) return false;
      if (!entry.record) return true;
      return entry.record->spec.backend == Backend::kQuota
                 ? v.folder.has_value()
                 : v.lv && v.lv->group == entry.record->volume_group;
    });
    if (view == nullptr) view = &add(entry.name.text());
    if (entry.record)
      view->record = *entry.record;
    else
      view->record_error = entry.record.error().message();
  }

  void add_mount(const engine::MountEntry& mount, const AskUsage& ask_usage) {
    const auto place = kubelet_place(mount.mount_point);
    VolumeView* view = find([&](const VolumeView& v) {
      const std::string device = device_of(v);
      return !device.empty() && device == mount.source;
    });
    if (view == nullptr && !place) return;
    if (view == nullptr) view = find([&](const VolumeView& v) { return v.name == place->volume; });
    if (view == nullptr) view = &add(place->volume);
    view->mounts.push_back(
        {mount.mount_point, place ? place->pod_uid : std::string(), ask_usage(mount.mount_point)});
  }

  const NodeView& node_;
  std::vector<VolumeView> views_;
};

}  // namespace

std::vector<VolumeView> merge(const NodeView& node, const AskUsage& ask_usage) {
  return Merger(node).run(ask_usage);
}

std::string_view state_of(const VolumeView& view) {
  if (!view.record_error.empty()) return "bad-record";
  if (view.lv && !view.lv->ownership) return "foreign";
  const bool there = view.lv || view.folder;
  const bool wiping = view.record && view.record->state == engine::RecordState::kWiping;
  if (there && is_retained(view) && !wiping && view.mounts.empty()) return "retained";
  if (!view.record) return there ? "no-record" : "mount-only";
  // The records of a promise and an intent are written before there is anything.
  if (!there && view.looked && view.record->state > engine::RecordState::kIntent)
    return "no-volume";
  return to_string(view.record->state);
}

bool is_retained(const VolumeView& view) {
  return (view.lv && view.lv->ownership && view.lv->ownership->retained) ||
         (view.record && view.record->retained);
}

std::optional<unsigned> wiped_percent(const VolumeView& view) {
  if (!view.record || view.record->state != engine::RecordState::kWiping) return std::nullopt;
  const std::uint64_t size = size_of(view).count();
  if (size == 0) return 0;
  const std::uint64_t wiped = std::min(view.record->wiped.count(), size);
  return static_cast<unsigned>(static_cast<long double>(wiped) / static_cast<long double>(size) *
                               100);
}

std::string claim_namespace_of(const VolumeView& view) {
  if (view.lv && view.lv->ownership) return view.lv->ownership->claim_namespace;
  return view.record ? view.record->spec.claim_namespace : std::string();
}

std::string claim_uid_of(const VolumeView& view) {
  if (view.lv && view.lv->ownership) return view.lv->ownership->claim_uid;
  const auto name = engine::VolumeName::parse(view.name);
  return name ? name->claim_uid() : std::string();
}

std::string cluster_id_of(const VolumeView& view) {
  if (view.lv && view.lv->ownership) return view.lv->ownership->cluster_id;
  return view.record ? view.record->spec.cluster_id : std::string();
}

std::string backend_of(const VolumeView& view) {
  if (view.record) return std::string(to_string(view.record->spec.backend));
  if (view.folder) return std::string(to_string(Backend::kQuota));
  if (!view.lv || !view.lv->ownership) return {};
  return std::string(to_string(view.lv->thin_pool.empty() ? Backend::kLvm : Backend::kThin));
}

std::string pool_of(const VolumeView& view) {
  if (view.lv && view.lv->ownership) return view.lv->ownership->pool;
  if (view.folder) return view.folder->space.substr(kQuotaSpace.size());
  return {};
}

std::string group_of(const VolumeView& view) {
  if (view.lv) return view.lv->group;
  return view.record ? view.record->volume_group : std::string();
}

std::string fs_type_of(const VolumeView& view) {
  if (view.lv && view.lv->ownership) return std::string(to_string(view.lv->ownership->fs_type));
  return view.record ? std::string(to_string(view.record->spec.fs_type)) : std::string();
}

Bytes size_of(const VolumeView& view) {
  if (view.lv) return view.lv->size;
  if (view.folder) return view.folder->size;
  return view.record ? view.record->spec.size : Bytes();
}

std::optional<Bytes> used_of(const VolumeView& view) {
  for (const MountPlace& place : view.mounts)
    if (place.usage) return place.usage->used;
  return std::nullopt;
}

std::string device_of(const VolumeView& view) {
  const bool logical = view.lv || (view.record && view.record->spec.backend != Backend::kQuota &&
                                   !view.record->volume_group.empty());
  return logical ? engine::device_path(group_of(view), view.name) : std::string();
}

}  // namespace flexlocal::cli
