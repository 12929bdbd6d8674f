// Work that may wait for ever, as reading a disk that does not answer does: no signal ends that.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "flexvolume/base/lock.h"
#include "flexvolume/base/result.h"

namespace flexlocal {

// Does `work` in a child process (fork(2)) and returns what it returned. It changes nothing here,
// and has no descriptor of its parent's but that of `lock`, which it holds as long as it lives.
// kDeadline where it takes longer, and the child is killed, or left behind where even that has to
// wait; kFailed where it crashed.
Result<std::string> in_child(const FileLock& lock, const std::function<std::string()>& work,
                             std::chrono::milliseconds deadline);

}  // namespace flexlocal
