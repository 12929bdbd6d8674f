#include "flexvolume/engine/contract/contract.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPrefix = "flexlocal.io/";
constexpr std::string_view kBackendKey = "flexlocal.io/backend";
constexpr std::string_view kPoolKey = "flexlocal.io/pool";
constexpr std::string_view kSizeKey = "flexlocal.io/size";
constexpr std::string_view kNamespaceKey = "flexlocal.io/claimNamespace";
constexpr std::string_view kClusterKey = "flexlocal.io/clusterID";
constexpr std::string_view kOnDeleteKey = "flexlocal.io/onDelete";
constexpr std::string_view kReadIopsKey = "flexlocal.io/readIOPS";
constexpr std::string_view kWriteIopsKey = "flexlocal.io/writeIOPS";
constexpr std::string_view kReadBandwidthKey = "flexlocal.io/readBandwidth";
constexpr std::string_view kWriteBandwidthKey = "flexlocal.io/writeBandwidth";
constexpr std::string_view kIoLimitsKey = "flexlocal.io/ioLimits";
constexpr std::string_view kMountOptionsKey = "flexlocal.io/mountOptions";
constexpr std::array kKnownKeys = {
    kBackendKey,  kPoolKey,         kSizeKey,      kNamespaceKey,     kClusterKey,
    kOnDeleteKey, kReadIopsKey,     kWriteIopsKey, kReadBandwidthKey, kWriteBandwidthKey,
    kIoLimitsKey, kMountOptionsKey, kGrantKey};

constexpr std::string_view kClusterTag = "flexlocal.io/cluster=";
constexpr std::string_view kClaimTag = "flexlocal.io/claim-uid=";
constexpr std::string_view kNamespaceTag = "flexlocal.io/claim-namespace=";
constexpr std::string_view kPoolTag = "flexlocal.io/pool=";
constexpr std::string_view kFsTypeTag = "flexlocal.io/fs=";
constexpr std::string_view kOnDeleteTag = "flexlocal.io/on-delete=";
constexpr std::string_view kSizeTag = "flexlocal.io/size=";
constexpr std::string_view kAttemptTag = "flexlocal.io/attempt=";
constexpr std::string_view kAnyOwnerTag = "flexlocal.io/owner=";
constexpr std::string_view kSharedTag = "flexlocal.io/shared-pool=";
constexpr std::array kTagKeys = {kAnyOwnerTag, kClusterTag,  kClaimTag, kNamespaceTag, kPoolTag,
                                 kFsTypeTag,   kOnDeleteTag, kSizeTag,  kAttemptTag,   kSharedTag};

// A record wants both of whoever it is of.
constexpr std::string_view kNoCluster = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kNoNamespace = "flexlocal";

// The option, or kInvalid naming the key.
Result<std::string> required(const Options& options, std::string_view key) {
  const auto found = options.find(std::string(key));
  if (found == options.end())
    return Error(ErrorCode::kInvalid, concat("option ", key, " is missing"));
  return found->second;
}

Result<std::string> required_matching(const Options& options, std::string_view key,
                                      bool (*valid)(std::string_view), std::string_view what) {
  auto value = required(options, key);
  if (value && !valid(*value))
    return Error(ErrorCode::kInvalid, concat("option ", key, " is \"", printable(*value, 80),
                                             "\", which is not ", what));
  return value;
}

// Whole numbers only: the provisioner writes nothing else, and a unit could be read two ways.
Result<std::uint64_t> count_of(std::string_view key, const std::string& text) {
  unsigned long long count = 0;
  if (!parse_number(text, kMostBytes.count(), count) || text.front() == '0')
    return Error(ErrorCode::kInvalid, concat("option ", key, " is \"", printable(text, 40),
                                             "\", which is not a whole number from 1 to 2^63-1"));
  return std::uint64_t(count);
}

Result<Bytes> required_size(const Options& options) {
  const auto text = required(options, kSizeKey);
  if (!text) return text.error();
  const auto count = count_of(kSizeKey, *text);
  if (!count) return count.error();
  return Bytes(*count);
}

Result<std::uint64_t> limit_of(const Options& options, std::string_view key) {
  const auto found = options.find(std::string(key));
  return found == options.end() ? std::uint64_t(0) : count_of(key, found->second);
}

Result<IoLimits> parse_limits(const Options& options) {
  IoLimits limits;
  std::uint64_t read_bandwidth = 0;
  std::uint64_t write_bandwidth = 0;
  struct Place {
    std::string_view key;
    std::uint64_t& into;
  };
  for (const Place& place :
       {Place{kReadIopsKey, limits.read_iops}, Place{kWriteIopsKey, limits.write_iops},
        Place{kReadBandwidthKey, read_bandwidth}, Place{kWriteBandwidthKey, write_bandwidth}}) {
    const auto limit = limit_of(options, place.key);
    if (!limit) return limit.error();
    place.into = *limit;
  }
  limits.read_bandwidth = Bytes(read_bandwidth);
  limits.write_bandwidth = Bytes(write_bandwidth);
  if (const auto found = options.find(std::string(kIoLimitsKey)); found != options.end()) {
    if (found->second != "required")
      return Error(ErrorCode::kInvalid,
                   concat("option ", kIoLimitsKey, " is \"", printable(found->second, 40),
                          "\"; accepted: required"));
    limits.required = true;
  }
  return limits;
}

Result<std::vector<std::string>> parse_mount_options(const Options& options, Backend backend) {
  std::vector<std::string> parsed;
  const auto found = options.find(std::string(kMountOptionsKey));
  if (found == options.end()) return parsed;
  for (const std::string_view option : split(found->second, ',')) {
    if (auto accepted = check_mount_option(backend, option); !accepted) return accepted.error();
    parsed.emplace_back(option);
  }
  return parsed;
}

Result<OnDelete> requested_wipe(const Options& options) {
  const auto found = options.find(std::string(kOnDeleteKey));
  return found == options.end() ? OnDelete::kDiscard : parse_on_delete(found->second);
}

Status refuse_unknown_keys(const Options& options) {
  for (const auto& [key, value] : options) {
    if (!key.starts_with(kPrefix)) continue;
    if (std::find(kKnownKeys.begin(), kKnownKeys.end(), key) != kKnownKeys.end()) continue;
    return Error(ErrorCode::kInvalid, concat("option ", printable(key, 80),
                                             " is not known to this version of flexlocal; ",
                                             "update the plugin on this node"));
  }
  return {};
}

Result<FsType> requested_fs_type(const Options& options) {
  const auto found = options.find(std::string(kKubeletFsType));
  // kubelet hands an empty type when the PV names none.
  if (found == options.end() || found->second.empty()) return FsType::kXfs;
  return parse_fs_type(found->second);
}

}  // namespace

Options to_options(const VolumeSpec& spec) {
  Options options = {{std::string(kBackendKey), std::string(to_string(spec.backend))},
                     {std::string(kPoolKey), spec.pool},
                     {std::string(kSizeKey), concat(spec.size.count())},
                     {std::string(kNamespaceKey), spec.claim_namespace},
                     {std::string(kClusterKey), spec.cluster_id},
                     {std::string(kOnDeleteKey), std::string(to_string(spec.on_delete))}};
  const auto add_limit = [&](std::string_view key, std::uint64_t limit) {
    if (limit != 0) options.emplace(key, concat(limit));
  };
  add_limit(kReadIopsKey, spec.limits.read_iops);
  add_limit(kWriteIopsKey, spec.limits.write_iops);
  add_limit(kReadBandwidthKey, spec.limits.read_bandwidth.count());
  add_limit(kWriteBandwidthKey, spec.limits.write_bandwidth.count());
  if (spec.limits.required) options.emplace(kIoLimitsKey, "required");
  if (!spec.mount_options.empty()) options.emplace(kMountOptionsKey, join(spec.mount_options, ","));
  return options;
}

namespace {

// The fields that say whose the volume is.
Result<VolumeSpec> parse_identity(const Options& options) {
  const auto name_text = required(options, kKubeletVolumeName);
  if (!name_text) return name_text.error();
  auto name = VolumeName::parse(*name_text);
  if (!name) return name.error();
  auto cluster = required_matching(options, kClusterKey, is_uuid, "a uid");
  if (!cluster) return cluster.error();
  auto space = required_matching(options, kNamespaceKey, is_dns_label, "a namespace's name");
  if (!space) return space.error();
  auto pool = required_matching(options, kPoolKey, is_dns_label, "a pool's name");
  if (!pool) return pool.error();
  return VolumeSpec{std::move(*name), std::move(*cluster), std::move(*space), std::move(*pool)};
}

}  // namespace

Result<VolumeSpec> parse_options(const Options& options) {
  if (auto known = refuse_unknown_keys(options); !known) return known.error();
  auto spec = parse_identity(options);
  if (!spec) return spec;
  const auto size = required_size(options);
  if (!size) return size.error();
  spec->size = *size;
  const auto backend_text = required(options, kBackendKey);
  if (!backend_text) return backend_text.error();
  const auto backend = parse_backend(*backend_text);
  if (!backend) return backend.error();
  spec->backend = *backend;
  const auto fs_type = requested_fs_type(options);
  if (!fs_type) return fs_type.error();
  spec->fs_type = *fs_type;
  if (spec->backend == Backend::kQuota && spec->fs_type != FsType::kXfs)
    return Error(ErrorCode::kInvalid, "backend quota has file system xfs only");
  const auto wipe = requested_wipe(options);
  if (!wipe) return wipe.error();
  spec->on_delete = *wipe;
  const auto limits = parse_limits(options);
  if (!limits) return limits.error();
  spec->limits = *limits;
  auto mount_options = parse_mount_options(options, spec->backend);
  if (!mount_options) return mount_options.error();
  spec->mount_options = std::move(*mount_options);
  return spec;
}

VolumeSpec shared_spec(const std::string& pool, Bytes size) {
  return {.name = VolumeName::of_pool(pool),
          .cluster_id = std::string(kNoCluster),
          .claim_namespace = std::string(kNoNamespace),
          .pool = pool,
          .size = size};
}

std::vector<std::string> to_tags(const VolumeSpec& spec, std::string_view attempt) {
  if (spec.name.is_of_pool())
    return {std::string(kOwnerTag),
            concat(kSharedTag, spec.pool),
            concat(kFsTypeTag, to_string(spec.fs_type)),
            concat(kSizeTag, spec.size.count()),
            concat(kAttemptTag, attempt),
            std::string(kNewTag)};
  return {std::string(kOwnerTag),
          concat(kClusterTag, spec.cluster_id),
          concat(kClaimTag, spec.name.claim_uid()),
          concat(kNamespaceTag, spec.claim_namespace),
          concat(kPoolTag, spec.pool),
          concat(kFsTypeTag, to_string(spec.fs_type)),
          concat(kOnDeleteTag, to_string(spec.on_delete)),
          concat(kSizeTag, spec.size.count()),
          concat(kAttemptTag, attempt),
          std::string(kNewTag)};
}

namespace {

using TagValues = std::map<std::string_view, std::string_view>;

// By their keys. Nothing when one key has two values: tags are a set without an order, so neither
// is the right one. A state may be there besides another, see Ownership.
std::optional<TagValues> values_of(const std::vector<std::string_view>& tags) {
  TagValues values;
  for (const std::string_view tag : tags)
    for (const std::string_view key : kTagKeys) {
      if (!tag.starts_with(key)) continue;
      const auto [found, added] = values.emplace(key, tag.substr(key.size()));
      if (!added && found->second != tag.substr(key.size())) return std::nullopt;
    }
  return values;
}

}  // namespace

std::optional<Ownership> parse_tags(const std::vector<std::string_view>& tags) {
  const auto values = values_of(tags);
  if (!values) return std::nullopt;
  const auto value = [&](std::string_view key) {
    const auto found = values->find(key);
    return found == values->end() ? std::string() : std::string(found->second);
  };
  const auto has = [&](std::string_view tag) {
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  };
  Ownership found{.cluster_id = value(kClusterTag),
                  .claim_uid = value(kClaimTag),
                  .claim_namespace = value(kNamespaceTag),
                  .pool = value(kPoolTag),
                  .size = {},
                  .ready = has(kReadyTag),
                  .wiping = has(kWipingTag),
                  .retained = has(kRetainedTag),
                  .attempt = value(kAttemptTag)};
  unsigned long long size = 0;
  if (parse_number(value(kSizeTag), kMostBytes.count(), size)) found.size = Bytes(size);
  if (values->contains(kFsTypeTag)) {
    const auto type = parse_fs_type(value(kFsTypeTag));
    if (!type) return std::nullopt;
    found.fs_type = *type;
  }
  if (values->contains(kOnDeleteTag)) {
    const auto wipe = parse_on_delete(value(kOnDeleteTag));
    if (!wipe) return std::nullopt;
    found.on_delete = *wipe;
  }
  found.shared = values->contains(kSharedTag);
  if (found.shared) found.pool = value(kSharedTag);
  const bool of_claim =
      is_uuid(found.cluster_id) && is_uuid(found.claim_uid) && is_dns_label(found.claim_namespace);
  const bool of_pool =
      found.cluster_id.empty() && found.claim_uid.empty() && found.claim_namespace.empty();
  const bool whole = has(kOwnerTag) && (found.shared ? of_pool : of_claim) &&
                     is_dns_label(found.pool) && found.size > Bytes(0);
  return whole ? std::optional(found) : std::nullopt;
}

bool owns(const Ownership& ownership, const VolumeSpec& spec) {
  if (ownership.shared || spec.name.is_of_pool())
    return ownership.shared && spec.name.is_of_pool() && ownership.pool == spec.pool;
  return ownership.cluster_id == spec.cluster_id && ownership.claim_uid == spec.name.claim_uid() &&
         ownership.claim_namespace == spec.claim_namespace;
}

}  // namespace flexlocal::engine
