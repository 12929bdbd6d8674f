// Names: of volumes, and of what else names appear in paths, arguments and tags.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// RFC 4122 text form, lower case, as Kubernetes writes uids.
bool is_uuid(std::string_view text);
// The text form of 16 bytes.
std::string to_uuid(std::string_view bytes);
// RFC 1123 label: what names a namespace, and a pool.
bool is_dns_label(std::string_view text);
// IsDNS1123Subdomain of the same: names of Nodes, claims, StorageClasses and most others.
bool is_dns_subdomain(std::string_view text);
// The id of a volume's copy: 16 lower-case hexadecimal digits.
bool is_copy_id(std::string_view text);
// man lvm, "VALID NAMES"; and it never starts with a hyphen. Groups and thin pools.
bool is_lvm_name(std::string_view text);

// "pvc-<claim uid>", the name of PV, LV, folder and record alike; and "flexlocal-<pool>", the name
// of the LV and record of a pool's shared file system. Nothing else is ever a volume of ours, so a
// name that parses is safe in a path, an argument and a tag.
class VolumeName {
 public:
  // Of a claim's volume alone.
  static Result<VolumeName> parse(std::string_view text);
  static Result<VolumeName> of_claim(std::string_view uid);
  // `pool`: a DNS label.
  static VolumeName of_pool(std::string_view pool);
  // Of either.
  static Result<VolumeName> parse_any(std::string_view text);

  const std::string& text() const { return text_; }
  bool is_of_pool() const;
  std::string claim_uid() const { return text_.substr(4); }
  bool operator==(const VolumeName&) const = default;

 private:
  explicit VolumeName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

// "/dev/mapper/<vg>-<lv>" with hyphens doubled, as libdevmapper builds names.
std::string device_path(std::string_view volume_group, std::string_view logical_volume);

}  // namespace flexlocal::engine
