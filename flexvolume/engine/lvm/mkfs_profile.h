// File systems that the running kernel can mount, also when the host's xfsprogs is newer than it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flexlocal::engine {

// xfsprogs brings a profile for each long-term kernel, "lts_5.10.conf" (man mkfs.xfs, "-c"), that
// has only features which that kernel knows. Where one of them is for a newer kernel than `release`
// ("5.14.0-19-generic"), mkfs's defaults may be too: this chooses the newest that is not newer, or
// the oldest there is. Else it is empty and the defaults hold: the profile of the kernel's own
// generation is not better, and Debian 12's lts_6.1.conf is one that its mkfs.xfs refuses.
std::string choose_mkfs_profile(const std::vector<std::string>& names, std::string_view release);

// Whether the kernel is the one that the distribution made together with its xfsprogs, whatever its
// number says: Enterprise Linux 9 calls its own 5.14, and has the XFS of later kernels in it.
// `os_release`: the text of /etc/os-release, whose PLATFORM_ID, "platform:el9", is in the names of
// those kernels, "5.14.0-427.el9_4.x86_64". Then mkfs's defaults are right.
bool is_distributions_kernel(std::string_view os_release, std::string_view release);

// The profile's path for the running kernel, of those below `root`; empty: mkfs's own defaults.
std::string mkfs_profile(const std::string& root);

}  // namespace flexlocal::engine
