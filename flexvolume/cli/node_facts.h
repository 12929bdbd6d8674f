// What is to be seen of this node, gathered without a judgement: diagnosis.h judges.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"
#include "flexvolume/cli/lvm_facts.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/limits/pod_cgroups.h"
#include "flexvolume/engine/volume/init_mark.h"

namespace flexlocal::cli {

struct ToolFact {
  std::string name;
  std::string package;  // of Debian
  std::string path;     // empty: in none of the usual places
  bool runnable = false;
};

// A part of the kernel that a mount needs.
struct KernelFact {
  std::string name;  // "xfs"
  bool running = false;
  bool loadable = false;  // a module that is loaded when it is first needed
};

struct FolderFact {
  std::string path;
  bool there = false;
};

struct RecordFacts {
  std::size_t readable = 0;
  std::vector<std::string> unreadable;  // one message each
};

struct CgroupFacts {
  engine::IoHierarchy hierarchy;
  bool has_io = true;  // of v2: whether the root offers the controller; v1 is found by it
};

struct NodeFacts {
  bool root = false;
  Result<engine::NodeConfig> config;
  std::vector<ToolFact> tools;
  // By package, as one of its tools prints it: "2.03.16".
  std::map<std::string, std::string> versions;
  std::vector<KernelFact> kernel;
  bool device_mapper = false;
  FolderFact lvm_locks;
  Result<std::vector<GroupFact>> groups;
  Result<std::vector<LogicalVolumeFact>> volumes;
  Result<std::vector<engine::MountEntry>> mounts;
  FolderFact kubelet_dir;
  FolderFact plugin_dir;
  Result<std::string> installed_version;  // of the program in the plugin folder
  std::string own_version;
  Result<engine::InitMark> init_mark;  // what kubelet called last
  Result<CgroupFacts> cgroups;
  Result<RecordFacts> records;
};

}  // namespace flexlocal::cli
