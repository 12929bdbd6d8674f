#include "flexvolume/base/tree.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

constexpr int kMostOpen = 16;

// Deepest first. Of a folder that something is mounted on rmdir says EBUSY.
int remove_entry(const char* path, const struct stat*, int kind, FTW* at) {
  if (kind == FTW_NS || kind == FTW_DNR) return errno == 0 ? EIO : errno;
  if (std::remove(path) == 0 || errno == ENOENT) return 0;
  return at->level == 0 && errno == EBUSY ? 0 : errno;
}

}  // namespace

Status remove_tree(const std::string& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0)
    return errno == ENOENT ? Status() : Error::from_errno(errno, concat("looking at ", folder));
  const int failed =
      ::nftw(folder.c_str(), remove_entry, kMostOpen, FTW_PHYS | FTW_DEPTH | FTW_MOUNT);
  if (failed == 0) return {};
  if (failed == ENOTEMPTY || failed == EBUSY)
    return Error(ErrorCode::kBusy,
                 concat(folder, " does not get empty; is something mounted in it?"));
  return Error::from_errno(failed > 0 ? failed : errno, concat("removing ", folder));
}

}  // namespace flexlocal
