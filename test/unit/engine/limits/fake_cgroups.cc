#include "test/unit/engine/limits/fake_cgroups.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace fs = std::filesystem;

FakeCgroups::FakeCgroups(CgroupVersion version) : version_(version) { add_files(root_); }

void FakeCgroups::add_files(const fs::path& folder) {
  if (version_ == CgroupVersion::kV2) {
    std::ofstream(folder / "cgroup.controllers") << "cpu io\n";
    std::ofstream(folder / "cgroup.subtree_control");
    std::ofstream(folder / "io.max");
    return;
  }
  for (const char* limit : {"read_bps", "write_bps", "read_iops", "write_iops"})
    std::ofstream(folder / concat("blkio.throttle.", limit, "_device"));
}

void FakeCgroups::make(const std::string& cgroup) {
  fs::path folder = root_;
  for (const std::string_view name : split(cgroup, '/')) {
    folder /= name;
    if (fs::create_directory(folder)) add_files(folder);
  }
}

std::string FakeCgroups::read(const std::string& file) const {
  std::ostringstream content;
  content << std::ifstream(fs::path(root_) / file).rdbuf();
  return content.str();
}

void FakeCgroups::write(const std::string& file, const std::string& content) {
  std::ofstream(fs::path(root_) / file) << content;
}

MountEntry FakeCgroups::mount_entry() const {
  const bool v2 = version_ == CgroupVersion::kV2;
  return {"0:30", "/", root_, v2 ? "cgroup2" : "cgroup", "cgroup", v2 ? "rw" : "rw,blkio"};
}

}  // namespace flexlocal::engine
