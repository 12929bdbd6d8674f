// Grants: the proof that a volume's options are what the provisioner decided. Any pod author can
// write an inline FlexVolume with a name and options of their own choosing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::engine {

inline constexpr std::string_view kGrantKeyPath = "/etc/flexlocal/grant.key";

// The keys of an installation. The file has one key a line, 64 hexadecimal digits (32 bytes): the
// present one first, then those before it, at most kMostKeys. To rotate, put a new line on top
// and drop the last one once no PersistentVolume carries its grant any more.
class GrantKeys {
 public:
  static constexpr std::size_t kMostKeys = 8;

  // kInvalid, without a word of the content, for anything else.
  static Result<GrantKeys> parse(std::string_view text);
  // kNotFound when there is no file, kDenied when others than root may read it.
  static Result<GrantKeys> load(const std::string& path);

  std::size_t count() const { return keys_.size(); }

  // "1-<key id>-<HMAC-SHA256>" in hexadecimal, by the present key, over the name, the file system
  // and every option of the spec: what is not signed cannot be added later.
  std::string sign(const VolumeSpec& spec) const;

  // kDenied unless one of the keys signed exactly this spec. The comparison takes the same time
  // wherever the difference is.
  Status verify(const VolumeSpec& spec, std::string_view grant) const;

 private:
  explicit GrantKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}
  std::vector<std::string> keys_;  // raw
};

}  // namespace flexlocal::engine
