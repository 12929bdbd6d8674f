#include "flexvolume/base/version.h"

#include <flexlocal_version.h>  // written by the Makefile

namespace flexlocal {

std::string_view version() { return FLEXLOCAL_VERSION; }

}  // namespace flexlocal
