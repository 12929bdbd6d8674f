// One control group, held open: a folder of cgroupfs and its files (man cgroups).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

// Nothing below the hierarchy's root is reached through a link: the kernel makes none there, so one
// that is met was put there by somebody. A cgroup may be gone at any time; its files then say
// kNotFound.
class Cgroup {
 public:
  // The root of a hierarchy: where it is mounted.
  static Result<Cgroup> open_root(const std::string& path);

  // kNotFound when it is not there, kInvalid when the name is none or what bears it is a link.
  Result<Cgroup> child(std::string_view name) const;
  // The names of the cgroups in this one, in no order.
  Result<std::vector<std::string>> children() const;

  Result<std::string> read(std::string_view file) const;
  // In one write(2): the kernel takes each for a command of its own.
  Status write(std::string_view file, std::string_view text) const;

  // For messages.
  const std::string& path() const { return path_; }

 private:
  Cgroup(UniqueFd folder, std::string path) : folder_(std::move(folder)), path_(std::move(path)) {}
  Result<UniqueFd> open_file(std::string_view file, int flags) const;

  UniqueFd folder_;
  std::string path_;
};

}  // namespace flexlocal::engine
