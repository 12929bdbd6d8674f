#include "flexvolume/cli/installation.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "flexvolume/base/tree.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::cli {
namespace {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE(
    "installing makes, updates and keeps the one program, with no leftovers for kubelet to run") {
  engine::FakeHost fake;
  std::ofstream(fake.folder + "/v1") << "one";
  std::ofstream(fake.folder + "/v2") << "two";
  const std::string driver = fake.folder + "/exec/flexlocal.io~flexlocal";
  for (const auto* program : {"/v1", "/v1", "/v2"}) {
    REQUIRE(install(fake.folder + program, fake.folder + "/exec").ok());
    CHECK(content_of(driver + "/flexlocal") == content_of(fake.folder + program));
    int files = 0;
    for ([[maybe_unused]] const auto& entry :
         std::filesystem::recursive_directory_iterator(fake.folder + "/exec"))
      ++files;
    CHECK(files == 2);  // the driver's folder and the program
  }
  CHECK((std::filesystem::status(driver + "/flexlocal").permissions() &
         std::filesystem::perms::owner_exec) != std::filesystem::perms::none);
}

TEST_CASE("an install that was killed before its rename is repeated") {
  engine::FakeHost fake;
  std::ofstream(fake.folder + "/v1") << "one";
  std::filesystem::create_directories(fake.folder + "/exec/.flexlocal.io~flexlocal");
  std::ofstream(fake.folder + "/exec/.flexlocal.io~flexlocal/flexlocal.new") << "o";
  REQUIRE(install(fake.folder + "/v1", fake.folder + "/exec").ok());
  CHECK(content_of(fake.folder + "/exec/flexlocal.io~flexlocal/flexlocal") == "one");
}

// A host with all that an installation leaves, below a folder of the test's.
struct Host {
  engine::FakeHost fake;
  InstalledFiles files{
      .plugin_folder = fake.folder + "/exec",
      .pools = fake.folder + "/pools",
      .folders = {fake.folder + "/state", fake.folder + "/run", fake.folder + "/pools"}};

  Host() {
    std::ofstream(fake.folder + "/v1") << "one";
    REQUIRE(install(fake.folder + "/v1", files.plugin_folder).ok());
    for (const std::string& folder : files.folders) fs::create_directories(folder + "/sub");
    std::ofstream(fake.folder + "/state/sub/record") << "x";
  }
  void add_mount(const std::string& mount_point) {
    fake.mounts.push_back({"253:0", "/", mount_point, "xfs", "/dev/mapper/x", "rw"});
  }
  Status run(const std::vector<std::string>& volumes = {}) {
    return uninstall(files, fake, volumes);
  }
  bool is_whole() const {
    return fs::exists(fake.folder + "/state/sub/record") && !fs::is_empty(files.plugin_folder);
  }
};

TEST_CASE_FIXTURE(Host, "uninstalling takes away all files, and nothing of kubelet's own folder") {
  REQUIRE(run().ok());
  for (const std::string& folder : files.folders) CHECK_FALSE(fs::exists(folder));
  CHECK(fs::is_empty(files.plugin_folder));
  CHECK(run().ok());
}

TEST_CASE_FIXTURE(Host, "uninstalling refuses while volumes are mounted, and names them") {
  const std::string mounted = "/var/lib/kubelet/pods/1/volumes/flexlocal.io~flexlocal/pvc-1";
  add_mount(mounted);
  const auto refused = run();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kBusy);
  CHECK(refused.error().message().find(mounted) != std::string::npos);
  CHECK(is_whole());
}

// Without its record nobody knows any more whose a retained volume is.
TEST_CASE_FIXTURE(Host, "uninstalling refuses while there are volumes, and names them") {
  add_mount(files.pools + "/default");
  const auto refused = run({"pvc-1 (retained)"});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("pvc-1 (retained)") != std::string::npos);
  CHECK(is_whole());
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(Host, "a pool's file system is unmounted, and its folder goes then") {
  add_mount(files.pools + "/default");
  REQUIRE(run().ok());
  CHECK(fake.mounts.empty());
  CHECK_FALSE(fs::exists(files.pools));
}

TEST_CASE_FIXTURE(Host, "what does not come off its folder keeps everything as it is") {
  add_mount(files.pools + "/default");
  fake.failing = "umount";
  CHECK(run().error().code() == ErrorCode::kBusy);
  CHECK(is_whole());
}

TEST_CASE_FIXTURE(Host, "nothing that somebody else mounted in a folder is gone into") {
  for (const char* place : {"/state/sub", "/run/sub"}) {
    fake.mounts.clear();
    add_mount(fake.folder + place);
    const auto refused = run();
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code() == ErrorCode::kBusy);
    CHECK(is_whole());
  }
}

TEST_CASE_FIXTURE(Host, "a tree is removed without following its links") {
  const std::string outside = fake.folder + "/outside";
  fs::create_directories(outside);
  std::ofstream(outside + "/precious") << "x";
  fs::create_directory_symlink(outside, fake.folder + "/state/sub/link");
  REQUIRE(remove_tree(fake.folder + "/state").ok());
  CHECK_FALSE(fs::exists(fake.folder + "/state"));
  CHECK(fs::exists(outside + "/precious"));
  CHECK(remove_tree(fake.folder + "/state").ok());
}

}  // namespace
}  // namespace flexlocal::cli
