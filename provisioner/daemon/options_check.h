// What the texts of flags mean, and which values are accepted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/result.h"
#include "provisioner/daemon/options.h"

namespace flexlocal::provisioner {

// As they stand on the command line or in the configuration file, or their defaults.
struct RawOptions {
  std::string role;
  std::string log_level;
  std::string log_format;
  std::string http_endpoint;
  std::string orphan_policy;
  std::string node_delete_policy;
  std::optional<std::string> immediate;
  std::string provisioning;
  std::map<std::string, std::string> durations;  // by the flag's name
  std::map<std::string, std::string> numbers;    // by the flag's name
};

// Each refuses what is wrong in one line that says what is accepted.
Status check_role(const RawOptions& raw, DaemonOptions& options);
// Every value by itself.
Status check_values(const RawOptions& raw, DaemonOptions& options);
// What values are to each other.
Status check_together(const DaemonOptions& options);

// kInvalid: "<why>; see flexlocal-provisioner --help".
Error wrong_usage(std::string_view why);

}  // namespace flexlocal::provisioner
