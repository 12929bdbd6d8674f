// How device-mapper is asked, as its own library does: an ioctl on one file (linux/dm-ioctl.h).
#pragma once

#include <linux/dm-ioctl.h>

#include <string_view>

namespace flexlocal::engine {

inline constexpr std::string_view kMapperControl = "/dev/mapper/control";

// A call without a device's name, and without more room for the answer than its own.
inline dm_ioctl mapper_call() {
  dm_ioctl call{};
  call.version[0] = DM_VERSION_MAJOR;  // any minor version of the kernel's will do
  call.data_size = call.data_start = sizeof call;
  return call;
}

}  // namespace flexlocal::engine
