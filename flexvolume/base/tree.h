// Removing folders of our own.
#pragma once

#include <string>

#include "flexvolume/base/result.h"

namespace flexlocal {

// Removes the folder and all in it that is on the same file system; links are not followed. What is
// mounted in it stays, and is an error, kBusy; so does the folder itself where something is mounted
// on it, which is none. A folder that is not there is success. Callers look for bind mounts of the
// same file system themselves: nothing tells those apart from folders (man nftw, FTW_MOUNT).
Status remove_tree(const std::string& folder);

}  // namespace flexlocal
