// Locks between processes: flock(2) on files in one folder of the host.
#pragma once

#include <chrono>
#include <string>

#include "flexvolume/base/fd.h"

namespace flexlocal {

// Held as long as any copy of the descriptor is open. A program that is handed the descriptor
// (Command::keep) therefore keeps the lock when its parent is killed: nobody starts a second
// mkfs while the first still runs.
class FileLock {
 public:
  // Waits until the lock is free; kDeadline, naming `path`, after `deadline`. The file is made when
  // missing.
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds deadline);

  int fd() const { return fd_.get(); }

  // The last to need the lock takes its file away while it holds it: whoever waits then begins
  // anew. Nothing is wrong where it stays.
  void remove_file() const;

 private:
  FileLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace flexlocal
