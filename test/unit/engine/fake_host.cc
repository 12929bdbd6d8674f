#include "test/unit/engine/fake_host.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

bool has_file_system(const std::string& start) {
  return (start.starts_with("XFSB") && start[126] == 0) || start.substr(1080, 2) == "\x53\xef";
}

}  // namespace

std::string fake_mapper_name(const std::string& key) {
  return device_path(kFakeGroup, key.substr(5)).substr(std::string("/dev/mapper/").size());
}

std::string fake_pool_device(const std::string& pool) {
  return fake_mapper_name(concat(kFakeGroup, '/', pool)) + "-tpool";
}

FakeHost::FakeHost() {
  std::filesystem::create_directory(folder + "/proc");
  std::filesystem::create_directory(folder + "/groups");
  std::ofstream(concat(folder, "/groups/", kFakeGroup, ".json"))
      << R"({"group_uuid":"vg","seqno":1,"checksum":1,"disks":["/dev/fake-disk"]})";
}

Host FakeHost::host() {
  return Host{*this,
              *this,
              *this,
              *this,
              folder + "/records",
              folder + "/locks",
              {},
              folder + "/counters",
              folder + "/groups",
              folder + "/proc"};
}

NodeConfig FakeHost::config() const {
  NodeConfig config;
  config.kubelet_dir = folder + "/kubelet";
  config.pools["default"].volume_group = kFakeGroup;
  for (const auto* tool :
       {"blkdiscard", "blkid", "dmsetup", "lvchange", "lvcreate", "lvextend", "lvremove", "lvs",
        "mkfs.ext4", "mkfs.xfs", "mount", "resize2fs", "vgs", "xfs_growfs", "xfs_quota"})
    config.tools[tool] = concat("/fake/", tool);
  return config;
}

std::string FakeHost::volume_folder(const VolumeName& name, const std::string& pod) {
  std::string path =
      concat(folder, "/kubelet/pods/", pod, "/volumes/", kDriverFolder, '/', name.text());
  std::filesystem::create_directories(path);
  return path;
}

FakeVolume* FakeHost::at_device(const std::string& path) {
  for (auto& [key, volume] : volumes) {
    if (volume.active && path == device_path(kFakeGroup, key.substr(5))) return &volume;
  }
  return nullptr;
}

Result<std::string> FakeHost::mapper_uuid(const std::string& path) {
  const FakeVolume* volume = at_device(path);
  if (volume == nullptr) return Error(ErrorCode::kNotFound, "no such device");
  return other_device.empty() ? concat("LVM-vg", volume->uuid) : other_device;
}

Result<MapperState> FakeHost::mapper_state(const std::string& path) {
  if (!is_mapped) return Error(ErrorCode::kDenied, "no device of device-mapper");
  for (const auto& [pool, suspended] : thin_pools)
    if (path == concat("/dev/mapper/", fake_pool_device(pool)))
      return MapperState{Bytes(), suspended};
  const FakeVolume* volume = at_device(path);
  if (volume == nullptr) return Error(ErrorCode::kNotFound, "no such device");
  const std::uint64_t size = volume->device_size != 0 ? volume->device_size : volume->size;
  return MapperState{Bytes(size), volume->suspended};
}

Result<std::vector<MapperDevice>> FakeHost::mapper_devices() {
  std::vector<MapperDevice> devices;
  for (const auto& [key, volume] : volumes)
    if (volume.active)
      devices.push_back({fake_mapper_name(key), concat("LVM-vg", volume.uuid),
                         Bytes(volume.device_size != 0 ? volume.device_size : volume.size)});
  for (const auto& [pool, suspended] : thin_pools) devices.push_back({fake_pool_device(pool)});
  return devices;
}

Result<std::vector<std::string>> FakeHost::suspended_devices() {
  std::vector<std::string> names;
  for (const auto& [key, volume] : volumes)
    if (volume.active && volume.suspended) names.push_back(fake_mapper_name(key));
  for (const auto& [pool, suspended] : thin_pools)
    if (suspended) names.push_back(fake_pool_device(pool));
  return names;
}

Result<bool> FakeHost::has_unfinished(const std::vector<std::string>& names) {
  const auto asked = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [key, volume] : volumes)
    if (volume.active && (volume.suspended || volume.inactive_size != 0) &&
        asked(fake_mapper_name(key)))
      return true;
  return std::any_of(thin_pools.begin(), thin_pools.end(), [&](const auto& pool) {
    return pool.second && asked(fake_pool_device(pool.first));
  });
}

Result<std::string> FakeHost::read(const std::string& path, Bytes offset, std::size_t bytes) {
  if (path == "/dev/fake-disk") return disk.bytes().substr(offset.count(), bytes);
  const FakeVolume* volume = at_device(path);
  if (volume == nullptr) return Error(ErrorCode::kNotFound, "no such device");
  std::string content = offset.count() < volume->start.size()
                            ? volume->start.substr(offset.count(), bytes)
                            : std::string();
  content.resize(std::min<std::uint64_t>(bytes, volume->size - offset.count()), '\0');
  return content;
}

Status FakeHost::resize_ext4(const std::string& mount_point, Bytes) {
  if (failing == "resize2fs") resized.push_back(mount_point);
  for (const MountEntry& entry : mounts)
    if (entry.mount_point == mount_point) (void)resize2fs(entry.source);
  return {};
}

Result<Bytes> FakeHost::xfs_size(const std::string& mount_point) {
  for (const MountEntry& entry : mounts) {
    const FakeVolume* volume = entry.mount_point == mount_point ? at_device(entry.source) : nullptr;
    if (volume != nullptr)
      return lying == "xfs_growfs" ? kMiB : Bytes(volume->size) - left_by_growth;
  }
  return Error(ErrorCode::kInvalid, "no XFS is mounted there");
}

Result<std::string> FakeHost::disk_number(const std::string& path) {
  if (at_device(path) == nullptr) return Error(ErrorCode::kNotFound, "no such device");
  return std::string("253:0");
}

Status FakeHost::mount(const MountSource& source, const MountFlags& flags,
                       const MountPoint& point) {
  if (failing == "mount") return Error(ErrorCode::kInvalid, "wrong fs type");
  if (mount_error != 0) return Error::from_errno(mount_error, "mount");
  const FakeVolume* volume = at_device(source.device);
  if (volume != nullptr && !has_file_system(volume->start))
    return Error::from_errno(EUCLEAN, "mount");
  mounts.push_back({"253:0", source.is_bind() ? source.root : "/",
                    std::filesystem::read_symlink(point.folder).string(), source.fs_type,
                    source.device, source.data, flags.read_only});
  mount_flags.push_back(flags);
  return {};
}

Status FakeHost::unmount(const std::string& top) {
  const std::string name = top.substr(top.rfind('/') + 1);
  const auto last = std::find_if(mounts.rbegin(), mounts.rend(), [&](const MountEntry& entry) {
    return entry.mount_point.ends_with(name);
  });
  if (failing == "umount") return Error(ErrorCode::kBusy, "umount: busy");
  mounts.erase(std::next(last).base());
  return {};
}

Result<bool> FakeHost::has_files(const MountSource& source, const FileLock&) {
  started.emplace_back("look");
  if (mount_error != 0) return Error::from_errno(mount_error, "mount");
  const FakeVolume& volume = *at_device(source.device);
  if (!has_file_system(volume.start)) return Error::from_errno(EINVAL, "mount");
  return volume.files;
}

void FakeHost::write(LogLevel level, std::string_view message,
                     std::initializer_list<LogField> fields) {
  messages.emplace_back(message);
  log_lines.push_back(format_log_line(level, message, fields));
}

bool FakeHost::logged(std::string_view message) const {
  return std::find(messages.begin(), messages.end(), message) != messages.end();
}

std::string FakeHost::add_mkfs_profile() const {
  std::string path = "/usr/share/xfsprogs/mkfs/lts_9998.0.conf";
  std::filesystem::create_directories(std::filesystem::path(concat(folder, path)).parent_path());
  std::ofstream(concat(folder, path)) << "[metadata]\nbigtime=0\n";
  return path;
}

bool FakeHost::passed(std::string_view program, std::string_view flag,
                      std::string_view value) const {
  for (const Command& command : commands) {
    if (!command.path.ends_with(concat('/', program))) continue;
    const auto& all = command.arguments;
    const auto found = std::find(all.begin(), all.end(), flag);
    return found != all.end() && std::next(found) != all.end() && *std::next(found) == value;
  }
  return false;
}

VolumeSpec example_spec() {
  return VolumeSpec{*VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000a"),
                    "c0c1c2c3c4c5c6c7",
                    "11111111-2222-4333-8444-555555555555",
                    "shop",
                    "default",
                    Backend::kLvm,
                    FsType::kXfs,
                    Bytes(512 * kMiB.count())};
}

bool was_begun(const FakeHost& host, const VolumeSpec& spec) {
  const auto record = RecordStore(host.folder + "/records").load(spec.name);
  return record.ok() && record->has_value() && (*record)->state > RecordState::kPromised;
}

VolumeCall call_for(const VolumeSpec& spec) { return {spec.name, spec.copy}; }

OrderedCopy order_of(const VolumeSpec& spec) {
  return {.spec = spec,
          .claim_uid = spec.name.claim_uid(),
          .order = {.uid = "22222222-2222-4333-8444-555555555555",
                    .generation = 3,
                    .term = 7,
                    .claim_name = "data"}};
}

}  // namespace flexlocal::engine
