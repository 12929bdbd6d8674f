// /etc/flexlocal/node.conf: what the node's administrator decides. Classes and PVs never name a
// device, a path or a volume group; they name a pool, and this file says what that is here.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "flexvolume/base/log.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/layout.h"

namespace flexlocal::engine {

inline constexpr std::string_view kNodeConfigPath = "/etc/flexlocal/node.conf";

// Where the volumes of one pool are. Each backend needs a part of it and refuses a pool without.
struct Pool {
  std::string volume_group;  // lvm, thin, and a quota pool whose file system is ours
  Layout layout{};           // of the thick volumes
  std::string thin_pool;     // thin: the name of a thin pool in the group
  // thin, quota: the sum of the volumes' sizes may be this much of what is really there, percent
  unsigned overcommit_percent = 100;
  // quota: where the administrator mounted an XFS with prjquota ...
  std::string quota_path{};
  // ... or how large the file system is that is made for the pool in the group, in bytes; 0: none
  Bytes quota_size{};
};

struct NodeConfig {
  // kubelet's --root-dir. Mounts outside it are refused.
  std::string kubelet_dir = "/var/lib/kubelet";
  // The least that is logged.
  LogLevel log_level = LogLevel::kInfo;
  // By name. At least one, or no volume can be made here.
  std::map<std::string, Pool> pools;
  // Absolute paths of host tools that are not in the usual places, by the tool's name.
  std::map<std::string, std::string> tools;
};

// Reads the INI text (Boost.Program_options); `origin` names it in errors. kInvalid with the key
// and what is accepted, on anything unknown or malformed.
Result<NodeConfig> parse_node_config(const std::string& text, const std::string& origin);

// kNotFound, with what to write there, when the file is missing.
Result<NodeConfig> load_node_config(const std::string& path);

// The pool, or kInvalid listing the pools that this node has.
Result<Pool> find_pool(const NodeConfig& config, const std::string& name);

}  // namespace flexlocal::engine
