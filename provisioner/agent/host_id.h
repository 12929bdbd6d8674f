// Which host this is: Nodes are made anew under their names, and hosts under theirs.
#pragma once

#include <string>

#include "flexvolume/base/lock.h"

namespace flexlocal::provisioner {

// Of this installation of the host: 32 hexadecimal digits, drawn at the first call and kept in the
// folder. A root disk that is set up anew is another host.
Result<std::string> host_id(const std::string& state_dir);

// The host as it runs since its last boot: of two that were cloned from one image each has another.
Result<std::string> running_host(const std::string& host_id);

// Held for as long as the daemon runs: of two daemons on one host one would undo what the other
// does. kBusy, in words, when another one has it still after `patience`; a DaemonSet's update
// starts the next one when the last one is told to end.
Result<FileLock> lock_host(const std::string& lock_dir, std::chrono::milliseconds patience);

}  // namespace flexlocal::provisioner
