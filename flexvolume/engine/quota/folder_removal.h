// Removes a tree that somebody else filled: links are never followed, mounts never crossed, and
// neither the depth of the tree nor the width of a folder costs memory or descriptors. No step
// needs a block or an inode that is free, so that it works on a file system that is full.
#pragma once

#include <functional>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// Takes off what its owner may have set, and what keeps a folder from being moved, or things from
// being moved into it: immutable, append-only, and that it hands its project on.
void unlock_folder(const UniqueFd& folder);

// The same, and takes the folder itself out of its project, whose limit would hold for what is
// moved into it. What is in it stays in the project.
void leave_project(const UniqueFd& folder);

// Removes what is in `heap`, a folder that nobody else can reach any more, and leaves it empty:
// true. False once `is_late` says so, which it is asked between two files; what is left is for the
// next call, and so it is after a kill. Folders that are not empty are first moved up into the
// heap, so that none is ever reached through another one. kBusy when something is mounted in the
// tree.
Result<bool> empty_heap(const UniqueFd& heap, const std::function<bool()>& is_late);

}  // namespace flexlocal::engine
