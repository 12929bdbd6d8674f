// Random bytes of the kernel, which nobody can guess.
#pragma once

#include <cstddef>
#include <string>

#include "flexvolume/base/result.h"

namespace flexlocal {

// At most 256, which come whole or not at all (man getrandom). Waits, early in a boot, until the
// kernel has gathered enough.
Result<std::string> random_bytes(std::size_t count);

}  // namespace flexlocal
