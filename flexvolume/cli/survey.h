// Gathers the facts of a node. Nothing is changed and nothing is waited for long: every program has
// a deadline, and what cannot be found out is a fact as well.
#pragma once

#include <string>

#include "flexvolume/base/program.h"
#include "flexvolume/cli/node_facts.h"
#include "flexvolume/engine/volume/record.h"
#include "flexvolume/engine/volume/volume_lock.h"

namespace flexlocal::cli {

// kubelet's --volume-plugin-dir where nobody gave another.
inline constexpr std::string_view kDefaultPluginDir =
    "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";

struct Places {
  std::string node_conf{engine::kNodeConfigPath};
  std::string records{engine::kRecordFolder};
  std::string plugin_dir{kDefaultPluginDir};
  std::string locks{engine::kLockFolder};
  std::string lvm_locks = "/run/lock/lvm";  // locking_dir of lvm.conf where it gives no other
  std::string proc = "/proc";
  std::string modules = "/lib/modules";
};

NodeFacts survey(const Places& places, CommandRunner& runner, engine::Mounter& mounter);

// "  LVM version:     2.03.16(2) (2022-05-18)" -> "2.03.16(2)": the first word that starts with a
// digit, since each tool writes its version in a line of its own making. Empty when there is none.
std::string version_in(std::string_view output);

// Whether modules.builtin or modules.dep (man modules.dep) names the module "<name>.ko", which may
// be compressed.
bool names_module(std::string_view list, std::string_view name);

// What /proc/filesystems has to say of a file system.
bool lists_file_system(std::string_view filesystems, std::string_view name);

}  // namespace flexlocal::cli
