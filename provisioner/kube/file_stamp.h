// What tells, without reading it, that a file is another one or has another content.
#pragma once

#include <string>

namespace flexlocal::kube {

// Links are followed: a Secret's file in a pod is a link that moves. All zero for a file that
// cannot be looked at.
struct FileStamp {
  unsigned long long device = 0, inode = 0;
  long long size = 0, seconds = 0,
            nanoseconds = 0;  // of the last change, that of mode or owner too

  static FileStamp of(const std::string& path);
  bool operator==(const FileStamp&) const = default;
};

}  // namespace flexlocal::kube
