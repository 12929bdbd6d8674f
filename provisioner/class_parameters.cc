#include "provisioner/class_parameters.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kAccepted = "backend, pool, fsType";
// The key by which other provisioners' users know it; consumed here and copied nowhere.
constexpr std::string_view kCsiFsType = "csi.storage.k8s.io/fstype";

Status set_parameter(ClassParameters& parsed, const std::string& key, const std::string& value) {
  if (key == "backend") {
    const auto backend = engine::parse_backend(value);
    if (!backend) return backend.error();
    parsed.backend = *backend;
    return {};
  }
  if (key == "fsType" || key == kCsiFsType) {
    const auto fs_type = engine::parse_fs_type(value);
    if (!fs_type) return fs_type.error();
    parsed.fs_type = *fs_type;
    return {};
  }
  if (key == "pool") {
    if (!engine::is_dns_label(value))
      return Error(ErrorCode::kInvalid,
                   concat("pool \"", printable(value, 80), "\" cannot be a pool's name"));
    parsed.pool = value;
    return {};
  }
  return Error(ErrorCode::kInvalid, concat("parameter \"", printable(key, 80),
                                           "\" is not known; accepted: ", kAccepted));
}

}  // namespace

Result<ClassParameters> parse_class(const StorageClass& storage_class) {
  const std::string where = concat("StorageClass ", storage_class.name);
  if (storage_class.has_mount_options)
    return Error(ErrorCode::kInvalid,
                 concat(where,
                        ": mountOptions are not supported by this version; kubelet refuses "
                        "them on FlexVolume"));
  ClassParameters parsed;
  for (const auto& [key, value] : storage_class.parameters)
    if (auto set = set_parameter(parsed, key, value); !set) return set.error().context(where);
  return parsed;
}

}  // namespace flexlocal::provisioner
