#include "provisioner/kube/file_stamp.h"

#include <sys/stat.h>

namespace flexlocal::kube {

FileStamp FileStamp::of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size, found.st_ctim.tv_sec, found.st_ctim.tv_nsec};
}

}  // namespace flexlocal::kube
