// The daemon's command line and its configuration file.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "flexvolume/base/result.h"
#include "provisioner/daemon/options.h"

namespace flexlocal::provisioner {

// --help or --version: print this and end well.
struct Say {
  std::string text;
};

// Reads the file that --config names, at most 1 MiB: `name = value` lines by the flags' names. The
// command line wins over it. An Error is one line for a person: what is wrong, in which file, and
// what is accepted.
Result<std::variant<DaemonOptions, Say>> parse_options(const std::vector<std::string>& arguments);

}  // namespace flexlocal::provisioner
