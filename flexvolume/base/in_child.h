// Work that may wait for ever, as reading a disk that does not answer does: no signal ends that.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "flexvolume/base/lock.h"
#include "flexvolume/base/result.h"

namespace flexlocal {

// What a child has said, also one that did not come to its end.
struct ChildOutput {
  std::string text;
  Status ended;
};
using Write = std::function<void(std::string_view)>;

struct ChildDeadlines {
  std::chrono::milliseconds silence;  // since its start, or since it has said something
  std::chrono::milliseconds whole;
};

// Does `work` in a child process (fork(2)) and returns what it said. It changes nothing here, and
// has no descriptor of its parent's but that of `lock`, which it holds as long as it lives.
// kDeadline where it says nothing for too long or takes too long in all, and the child is killed,
// or left behind where even that has to wait; kFailed where it crashed.
ChildOutput in_child(const FileLock& lock, const std::function<void(const Write&)>& work,
                     const ChildDeadlines& deadlines);

}  // namespace flexlocal
