#include "flexvolume/engine/contract.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::string_view kPrefix = "flexlocal.io/";
constexpr std::string_view kBackendKey = "flexlocal.io/backend";
constexpr std::string_view kPoolKey = "flexlocal.io/pool";
constexpr std::string_view kSizeKey = "flexlocal.io/size";
constexpr std::string_view kNamespaceKey = "flexlocal.io/claimNamespace";
constexpr std::string_view kClusterKey = "flexlocal.io/clusterID";

constexpr std::string_view kClusterTag = "flexlocal.io/cluster=";
constexpr std::string_view kClaimTag = "flexlocal.io/claim-uid=";
constexpr std::string_view kNamespaceTag = "flexlocal.io/claim-namespace=";
constexpr std::string_view kPoolTag = "flexlocal.io/pool=";
constexpr std::string_view kFsTypeTag = "flexlocal.io/fs=";
constexpr std::string_view kSizeTag = "flexlocal.io/size=";
constexpr std::string_view kAttemptTag = "flexlocal.io/attempt=";

bool is_lower_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool is_lower_alnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); }

bool is_alnum(char c) { return is_lower_alnum(c) || (c >= 'A' && c <= 'Z'); }

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

Result<Bytes> required_size(const Options& options) {
  const auto text = required(options, kSizeKey);
  if (!text) return text.error();
  unsigned long long count = 0;
  // Whole bytes only: the provisioner writes nothing else, and a unit could be read two ways.
  if (!parse_number(*text, kMostBytes.count(), count) || count == 0)
    return Error(ErrorCode::kInvalid,
                 concat("option ", kSizeKey, " is \"", printable(*text, 40),
                        "\", which is not a number of bytes from 1 to 2^63-1"));
  return Bytes(count);
}

Status refuse_unknown_keys(const Options& options) {
  for (const auto& [key, value] : options) {
    if (!key.starts_with(kPrefix)) continue;
    if (key == kBackendKey || key == kPoolKey || key == kSizeKey || key == kNamespaceKey ||
        key == kClusterKey)
      continue;
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

std::string_view to_string(Backend) { return "lvm"; }
std::string_view to_string(FsType) { return "xfs"; }

Result<Backend> parse_backend(std::string_view text) {
  if (text == "lvm") return Backend::kLvm;
  return Error(ErrorCode::kInvalid,
               concat("backend \"", printable(text, 40), "\" is not known; accepted: lvm"));
}

Result<FsType> parse_fs_type(std::string_view text) {
  if (text == "xfs") return FsType::kXfs;
  return Error(ErrorCode::kInvalid,
               concat("file system \"", printable(text, 40), "\" is not known; accepted: xfs"));
}

Bytes smallest(FsType) { return Bytes(300 * kMiB.count()); }

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !is_lower_hex(text[i])) return false;
  }
  return true;
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && text.size() <= 63 && is_lower_alnum(text.front()) &&
         is_lower_alnum(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
           return is_lower_alnum(c) || c == '-';
         });
}

bool is_volume_group_name(std::string_view text) {
  return !text.empty() && text.size() <= 127 && text.front() != '-' && text != "." &&
         text != ".." && std::all_of(text.begin(), text.end(), [](char c) {
           return is_alnum(c) || c == '+' || c == '_' || c == '.' || c == '-';
         });
}

Result<VolumeName> VolumeName::parse(std::string_view text) {
  if (!text.starts_with("pvc-") || !is_uuid(text.substr(4)))
    return Error(
        ErrorCode::kInvalid,
        concat('"', printable(text, 80), "\" is not the name of a flexlocal volume (pvc-<uid>)"));
  return VolumeName(std::string(text));
}

Result<VolumeName> VolumeName::of_claim(std::string_view uid) { return parse(concat("pvc-", uid)); }

Options to_options(const VolumeSpec& spec) {
  return {{std::string(kBackendKey), std::string(to_string(spec.backend))},
          {std::string(kPoolKey), spec.pool},
          {std::string(kSizeKey), concat(spec.size.count())},
          {std::string(kNamespaceKey), spec.claim_namespace},
          {std::string(kClusterKey), spec.cluster_id}};
}

Result<VolumeSpec> parse_options(const Options& options) {
  if (auto known = refuse_unknown_keys(options); !known) return known.error();
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
  const auto size = required_size(options);
  if (!size) return size.error();
  const auto backend_text = required(options, kBackendKey);
  if (!backend_text) return backend_text.error();
  const auto backend = parse_backend(*backend_text);
  if (!backend) return backend.error();
  const auto fs_type = requested_fs_type(options);
  if (!fs_type) return fs_type.error();
  return VolumeSpec{std::move(*name),
                    std::move(*cluster),
                    std::move(*space),
                    std::move(*pool),
                    *backend,
                    *fs_type,
                    *size};
}

std::vector<std::string> to_tags(const VolumeSpec& spec, std::string_view attempt) {
  return {std::string(kOwnerTag),
          concat(kClusterTag, spec.cluster_id),
          concat(kClaimTag, spec.name.claim_uid()),
          concat(kNamespaceTag, spec.claim_namespace),
          concat(kPoolTag, spec.pool),
          concat(kFsTypeTag, to_string(spec.fs_type)),
          concat(kSizeTag, spec.size.count()),
          concat(kAttemptTag, attempt),
          std::string(kNewTag)};
}

std::optional<Ownership> parse_tags(const std::vector<std::string_view>& tags) {
  Ownership found;
  bool owner = false;
  for (const std::string_view tag : tags) {
    const auto value = [&](std::string_view prefix) {
      return std::string(tag.substr(prefix.size()));
    };
    if (tag == kOwnerTag) owner = true;
    if (tag == kReadyTag) found.ready = true;
    if (tag.starts_with(kClusterTag)) found.cluster_id = value(kClusterTag);
    if (tag.starts_with(kClaimTag)) found.claim_uid = value(kClaimTag);
    if (tag.starts_with(kNamespaceTag)) found.claim_namespace = value(kNamespaceTag);
    if (tag.starts_with(kPoolTag)) found.pool = value(kPoolTag);
    if (tag.starts_with(kAttemptTag)) found.attempt = value(kAttemptTag);
    unsigned long long size = 0;
    if (tag.starts_with(kSizeTag) && parse_number(value(kSizeTag), kMostBytes.count(), size))
      found.size = Bytes(size);
    if (tag.starts_with(kFsTypeTag)) {
      const auto type = parse_fs_type(value(kFsTypeTag));
      if (!type) return std::nullopt;
      found.fs_type = *type;
    }
  }
  const bool whole = owner && is_uuid(found.cluster_id) && is_uuid(found.claim_uid) &&
                     is_dns_label(found.claim_namespace) && is_dns_label(found.pool) &&
                     found.size > Bytes(0);
  return whole ? std::optional(found) : std::nullopt;
}

bool owns(const Ownership& ownership, const VolumeSpec& spec) {
  return ownership.cluster_id == spec.cluster_id && ownership.claim_uid == spec.name.claim_uid() &&
         ownership.claim_namespace == spec.claim_namespace;
}

std::string device_path(std::string_view volume_group, const VolumeName& name) {
  std::string path = "/dev/mapper/";
  const auto escape = [&](std::string_view part) {
    for (const char c : part) path.append(c == '-' ? 2 : 1, c);
  };
  escape(volume_group);
  path += '-';
  escape(name.text());
  return path;
}

}  // namespace flexlocal::engine
