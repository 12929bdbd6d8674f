// The host's programs that the engine runs, and where they are.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::engine {

struct Tool {
  std::string_view name;
  std::string_view package;  // of Debian
};
// All of them, by name.
std::span<const Tool> all_tools();

bool is_tool(std::string_view name);
std::string tool_names();  // "blkid, lvchange, ..."

// Finds a tool's absolute path: the one that node.conf gives, else the first that exists of
// /usr/sbin, /usr/bin, /sbin, /bin. Looked up when first needed: a call starts few of them.
class Tools {
 public:
  // `root`: the folder under which the host's file tree is seen, for looking only; programs are
  // started in the host's mount namespace, where the answer holds. Empty: this process's own.
  explicit Tools(std::map<std::string, std::string> configured, std::string root = {})
      : configured_(std::move(configured)), root_(std::move(root)) {}

  // kNotFound names the tool and the Debian package that has it.
  Result<std::string> path(std::string_view name) const;

 private:
  std::map<std::string, std::string> configured_;
  std::string root_;
};

}  // namespace flexlocal::engine
