// A cgroup hierarchy as plain folders and files. They keep what is written and know no rules: what
// the kernel does with it, the node tier shows.
#pragma once

#include <filesystem>
#include <string>

#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/limits/pod_cgroups.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::engine {

class FakeCgroups {
 public:
  // v2 with the controllers cpu and io, of which none is enabled anywhere.
  explicit FakeCgroups(CgroupVersion version = CgroupVersion::kV2);

  // Makes it, with all above it: "kubepods/burstable/pod1".
  void make(const std::string& cgroup);
  std::string read(const std::string& file) const;
  void write(const std::string& file, const std::string& content);

  IoHierarchy hierarchy() const { return {version_, root_}; }
  // As the host's mount table shows it.
  MountEntry mount_entry() const;
  const std::string& root() const { return root_; }

 private:
  void add_files(const std::filesystem::path& folder);
  CgroupVersion version_;
  TemporaryFolder folder_;
  std::string root_ = folder_.path();
};

}  // namespace flexlocal::engine
