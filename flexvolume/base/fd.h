// File descriptors that close themselves, and the few file operations that both programs need.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal {

// Owns one file descriptor. Every descriptor of this project is opened close-on-exec.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC added; the error names the path. `mode` matters only with O_CREAT.
Result<UniqueFd> open_file(const std::string& path, int flags, unsigned mode = 0600);

// "/proc/self/fd/7": names the very object behind a descriptor.
std::string descriptor_path(const UniqueFd& fd);

// The whole file. kInvalid when it is longer than `most`: no input here is unbounded. kDenied, at
// once, when it is a pipe, a socket, a folder or a device.
Result<std::string> read_file(const std::string& path, Bytes most = kMiB);

// Puts `content` at `path` so that a reader, or the next boot, sees either the old file or the
// whole new one: a temporary beside it, fsync, rename, fsync of the folder. Repeating it is
// harmless; a kill leaves at most the temporary, which the next call replaces, a failure nothing.
// Callers that may write one path at once hold a lock. kDenied when the temporary is no plain file.
Status write_file_atomically(const std::string& path, std::string_view content, unsigned mode);

// Removes the file and syncs the folder; a file that is not there is success.
Status remove_file(const std::string& path);

// mkdir -p for a folder of ours: root's own, mode 0755 less `umask`. Existing folders are kept.
Status make_folders(const std::string& path);

}  // namespace flexlocal
