// File systems that the running kernel can mount, also when the host's xfsprogs is newer than it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flexlocal::engine {

// xfsprogs brings a profile for each long-term kernel, "lts_5.10.conf" (man mkfs.xfs, "-c"), that
// has only features which that kernel knows. This chooses the newest one that is not newer than
// `release` ("5.14.0-427.el9"), or the oldest there is; empty when there is none or the release
// cannot be read. Always the profile, not only for a newer xfsprogs: its version is not known
// without starting it.
std::string choose_mkfs_profile(const std::vector<std::string>& names, std::string_view release);

// The profile's path for the running kernel, of those below `root`; empty: mkfs's own defaults.
std::string mkfs_profile(const std::string& root);

}  // namespace flexlocal::engine
