#include "flexvolume/engine/contract/contract.h"

#include <algorithm>
#include <array>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPrefix = "flexlocal.io/";
constexpr std::string_view kCopyTag = "flexlocal.io/copy=";
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
constexpr std::array kTagKeys = {kAnyOwnerTag,  kCopyTag,    kClusterTag, kClaimTag,
                                 kNamespaceTag, kPoolTag,    kFsTypeTag,  kOnDeleteTag,
                                 kSizeTag,      kAttemptTag, kSharedTag};

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

Status refuse_unknown_keys(const Options& options) {
  for (const auto& [key, value] : options) {
    if (!key.starts_with(kPrefix) || key == kCopyOption) continue;
    return Error(ErrorCode::kInvalid, concat("option ", printable(key, 80),
                                             " is not known to this version of flexlocal; ",
                                             "update the plugin on this node"));
  }
  return {};
}

}  // namespace

Result<VolumeCall> parse_options(const Options& options) {
  if (auto known = refuse_unknown_keys(options); !known) return known.error();
  const auto name_text = required(options, kKubeletVolumeName);
  if (!name_text) return name_text.error();
  auto name = VolumeName::parse(*name_text);
  if (!name) return name.error();
  auto copy = required(options, kCopyOption);
  if (!copy) return copy.error();
  if (!is_copy_id(*copy))
    return Error(ErrorCode::kInvalid, concat("option ", kCopyOption, " is \"", printable(*copy, 40),
                                             "\", which is not the id of a copy"));
  return VolumeCall{std::move(*name), std::move(*copy)};
}

bool is_of(const VolumeSpec& one, const VolumeSpec& other) {
  return one.name == other.name && one.copy == other.copy && one.cluster_id == other.cluster_id &&
         one.claim_namespace == other.claim_namespace;
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
          concat(kCopyTag, spec.copy),
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
  Ownership found{.copy = value(kCopyTag),
                  .cluster_id = value(kClusterTag),
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
  const bool of_claim = is_copy_id(found.copy) && is_uuid(found.cluster_id) &&
                        is_uuid(found.claim_uid) && is_dns_label(found.claim_namespace);
  const bool of_pool = found.copy.empty() && found.cluster_id.empty() && found.claim_uid.empty() &&
                       found.claim_namespace.empty();
  const bool whole = has(kOwnerTag) && (found.shared ? of_pool : of_claim) &&
                     is_dns_label(found.pool) && found.size > Bytes(0);
  return whole ? std::optional(found) : std::nullopt;
}

Result<VolumeSpec> spec_by_tags(const Ownership& ownership, Backend backend) {
  auto name = VolumeName::of_claim(ownership.claim_uid);
  if (!name) return name.error();
  return VolumeSpec{.name = std::move(*name),
                    .copy = ownership.copy,
                    .cluster_id = ownership.cluster_id,
                    .claim_namespace = ownership.claim_namespace,
                    .pool = ownership.pool,
                    .backend = backend,
                    .fs_type = ownership.fs_type,
                    .size = ownership.size,
                    .on_delete = ownership.on_delete};
}

bool owns(const Ownership& ownership, const VolumeSpec& spec) {
  if (ownership.shared || spec.name.is_of_pool())
    return ownership.shared && spec.name.is_of_pool() && ownership.pool == spec.pool;
  return ownership.copy == spec.copy && ownership.cluster_id == spec.cluster_id &&
         ownership.claim_uid == spec.name.claim_uid() &&
         ownership.claim_namespace == spec.claim_namespace;
}

}  // namespace flexlocal::engine
