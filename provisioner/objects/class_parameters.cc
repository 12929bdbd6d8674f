#include "provisioner/objects/class_parameters.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kFsType = "fsType";
// The key by which other provisioners' users know it; consumed here and copied nowhere.
constexpr std::string_view kCsiFsType = "csi.storage.k8s.io/fstype";

template <typename Kind>
Status take(Result<Kind> parsed, Kind& into) {
  if (!parsed) return parsed.error();
  into = *parsed;
  return {};
}

Status parse_pool(const std::string& value, std::string& into) {
  if (!engine::is_dns_label(value))
    return Error(ErrorCode::kInvalid,
                 concat("pool \"", printable(value, 80), "\" cannot be a pool's name"));
  into = value;
  return {};
}

Status parse_disk_per_ram(const std::string& value, std::optional<Ratio>& into) {
  const auto ratio = parse_ratio(value);
  if (!ratio) return ratio.error().context("diskPerRam");
  into = *ratio;
  return {};
}

Status parse_size_from(const std::string& value, SizeFrom& into) {
  if (value != "request" && value != "podMemory")
    return Error(ErrorCode::kInvalid, concat("sizeFrom \"", printable(value, 40),
                                             "\" is not known; accepted: request, podMemory"));
  into = value == "request" ? SizeFrom::kRequest : SizeFrom::kPodMemory;
  return {};
}

Status parse_iops(std::string_view name, const std::string& value, std::uint64_t& into) {
  unsigned long long count = 0;
  if (!parse_number(value, kMostBytes.count(), count) || count == 0)
    return Error(ErrorCode::kInvalid, concat(name, " \"", printable(value, 40),
                                             "\" is not a whole number of operations per second, "
                                             "1 or more"));
  into = count;
  return {};
}

Status parse_bandwidth(std::string_view name, const std::string& value, Bytes& into) {
  const auto bandwidth = parse_quantity(value);
  if (!bandwidth || *bandwidth == Bytes(0))
    return Error(ErrorCode::kInvalid, concat(name, " \"", printable(value, 40),
                                             "\" is not a quantity of bytes per second such as "
                                             "100Mi, 1 or more"));
  into = *bandwidth;
  return {};
}

Status parse_io_limits(const std::string& value, bool& into) {
  if (value != "required")
    return Error(ErrorCode::kInvalid, concat("ioLimits \"", printable(value, 40),
                                             "\" is not known; accepted: required"));
  into = true;
  return {};
}

struct Parameter {
  std::string_view name;
  Status (*set)(ClassParameters&, const std::string&);
};

constexpr std::array<Parameter, 11> kParameters = {
    {{"backend", [](ClassParameters& p,
                    const std::string& v) { return take(engine::parse_backend(v), p.backend); }},
     {"pool", [](ClassParameters& p, const std::string& v) { return parse_pool(v, p.pool); }},
     {kFsType, [](ClassParameters& p,
                  const std::string& v) { return take(engine::parse_fs_type(v), p.fs_type); }},
     {"diskPerRam", [](ClassParameters& p,
                       const std::string& v) { return parse_disk_per_ram(v, p.disk_per_ram); }},
     {"sizeFrom",
      [](ClassParameters& p, const std::string& v) { return parse_size_from(v, p.size_from); }},
     {"onDelete",
      [](ClassParameters& p, const std::string& v) {
        return take(engine::parse_on_delete(v), p.on_delete);
      }},
     {"readIOPS",
      [](ClassParameters& p, const std::string& v) {
        return parse_iops("readIOPS", v, p.limits.read_iops);
      }},
     {"writeIOPS",
      [](ClassParameters& p, const std::string& v) {
        return parse_iops("writeIOPS", v, p.limits.write_iops);
      }},
     {"readBandwidth",
      [](ClassParameters& p, const std::string& v) {
        return parse_bandwidth("readBandwidth", v, p.limits.read_bandwidth);
      }},
     {"writeBandwidth",
      [](ClassParameters& p, const std::string& v) {
        return parse_bandwidth("writeBandwidth", v, p.limits.write_bandwidth);
      }},
     {"ioLimits", [](ClassParameters& p, const std::string& v) {
        return parse_io_limits(v, p.limits.required);
      }}}};

std::string accepted_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kParameters));
  for (const Parameter& parameter : kParameters) names.emplace_back(parameter.name);
  return join(names, ", ");
}

Status set_parameter(ClassParameters& parsed, const std::string& key, const std::string& value) {
  const std::string_view name = key == kCsiFsType ? kFsType : std::string_view(key);
  const auto found =
      std::find_if(kParameters.begin(), kParameters.end(),
                   [&](const Parameter& parameter) { return parameter.name == name; });
  if (found == kParameters.end())
    return Error(ErrorCode::kInvalid, concat("parameter \"", printable(key, 80),
                                             "\" is not known; accepted: ", accepted_names()));
  return found->set(parsed, value);
}

// What each says may be right, and both together cannot be kept.
Status check_together(const ClassParameters& parsed) {
  const auto refused = [](std::string_view why) {
    return Error(ErrorCode::kInvalid, std::string(why));
  };
  if (parsed.backend == engine::Backend::kQuota) {
    if (parsed.fs_type != engine::FsType::kXfs)
      return refused("backend quota has file system xfs only");
    if (parsed.on_delete == engine::OnDelete::kZero)
      return refused(
          "onDelete zero is not possible with backend quota, whose folders share the blocks of one "
          "file system; accepted: discard, none");
  }
  if (parsed.backend == engine::Backend::kThin && parsed.on_delete == engine::OnDelete::kZero)
    return refused(
        "onDelete zero is not possible with backend thin, whose pool zeroes a block itself before "
        "it "
        "hands it on; accepted: discard, none");
  if (parsed.size_from == SizeFrom::kPodMemory && parsed.disk_per_ram == Ratio())
    return refused("sizeFrom podMemory needs a diskPerRam above 0");
  if (parsed.limits.required && !parsed.limits.any())
    return refused(
        "ioLimits \"required\" needs a limit: readIOPS, writeIOPS, readBandwidth or "
        "writeBandwidth");
  return {};
}

Status check_one_fs_type(const std::map<std::string, std::string>& parameters) {
  const auto ours = parameters.find(std::string(kFsType));
  const auto theirs = parameters.find(std::string(kCsiFsType));
  if (ours == parameters.end() || theirs == parameters.end() || ours->second == theirs->second)
    return {};
  return Error(ErrorCode::kInvalid, concat(kFsType, " and ", kCsiFsType, " differ; give one"));
}

Status parse_class_fields(const StorageClass& storage_class, ClassParameters& parsed) {
  for (const auto& [key, value] : storage_class.parameters)
    if (auto set = set_parameter(parsed, key, value); !set) return set;
  if (auto one = check_one_fs_type(storage_class.parameters); !one) return one;
  if (auto together = check_together(parsed); !together) return together;
  for (const std::string& option : storage_class.mount_options)
    if (auto accepted = engine::check_mount_option(parsed.backend, option); !accepted)
      return accepted;
  parsed.mount_options = storage_class.mount_options;
  return {};
}

}  // namespace

Result<ClassParameters> parse_class(const StorageClass& storage_class) {
  ClassParameters parsed;
  if (auto taken = parse_class_fields(storage_class, parsed); !taken)
    return taken.error().context(concat("StorageClass ", storage_class.name));
  return parsed;
}

}  // namespace flexlocal::provisioner
