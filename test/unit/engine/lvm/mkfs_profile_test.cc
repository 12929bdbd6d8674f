#include "flexvolume/engine/lvm/mkfs_profile.h"

#include <doctest/doctest.h>
#include <sys/utsname.h>

#include <filesystem>
#include <fstream>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

const std::vector<std::string> kShipped = {"lts_5.4.conf",  "lts_4.19.conf", "dax_x86_64.conf",
                                           "lts_5.10.conf", "lts_6.1.conf",  "lts_5.15.conf"};

TEST_CASE("an older kernel than xfsprogs knows gets the newest profile that it can mount") {
  CHECK(choose_mkfs_profile(kShipped, "5.14.0-19-generic") == "lts_5.10.conf");
  CHECK(choose_mkfs_profile(kShipped, "5.15.0-100-generic") == "lts_5.15.conf");
  CHECK(choose_mkfs_profile(kShipped, "5.9") == "lts_5.4.conf");
  CHECK(choose_mkfs_profile(kShipped, "6.0.12") == "lts_5.15.conf");
}

TEST_CASE("a distribution's own kernel and xfsprogs are made for each other") {
  const std::string el9 =
      "NAME=\"Rocky Linux\"\nVERSION_ID=\"9.4\"\nPLATFORM_ID=\"platform:el9\"\n";
  CHECK(is_distributions_kernel(el9, "5.14.0-427.13.1.el9_4.x86_64"));
  CHECK(is_distributions_kernel(el9, "5.15.0-206.153.7.1.el9uek.x86_64"));
  for (const char* other : {"5.14.0", "4.18.0-553.el8_10.x86_64", "6.1.0-1.el90.x86_64", ""})
    CHECK_FALSE(is_distributions_kernel(el9, other));
  CHECK_FALSE(is_distributions_kernel("PLATFORM_ID=\"platform:\"\n", "5.14.0-1.el9"));
  CHECK_FALSE(is_distributions_kernel("ID=debian\n", "6.1.0-28-amd64"));
}

TEST_CASE("a kernel older than every profile gets the oldest") {
  CHECK(choose_mkfs_profile(kShipped, "4.18.0-553.el8") == "lts_4.19.conf");
}

TEST_CASE("a kernel as new as xfsprogs needs none") {
  CHECK(choose_mkfs_profile(kShipped, "6.1.0-28-amd64").empty());
  CHECK(choose_mkfs_profile(kShipped, "6.12.1").empty());
  CHECK(choose_mkfs_profile({}, "5.10.0").empty());
  CHECK(choose_mkfs_profile({"lts_x.conf", "lts_5.conf", "notes"}, "5.10.0").empty());
}

TEST_CASE("what the host has decides for the running kernel, and not its number alone") {
  FakeHost fake;
  CHECK(mkfs_profile(fake.folder).empty());
  const std::string profile = fake.add_mkfs_profile();
  CHECK(mkfs_profile(fake.folder) == profile);
  utsname kernel{};
  REQUIRE(::uname(&kernel) == 0);
  const std::string release = kernel.release;
  const auto write_platform = [&](std::string_view platform) {
    std::filesystem::create_directory(fake.folder + "/etc");
    std::ofstream(fake.folder + "/etc/os-release")
        << "ID=other\nPLATFORM_ID=\"platform:" << platform << "\"\n";
  };
  write_platform("el0");
  CHECK(mkfs_profile(fake.folder) == profile);
  // As if all that follows the kernel's first number were its distribution's mark.
  write_platform(release.substr(release.find('.') + 1));
  CHECK(mkfs_profile(fake.folder).empty());
}

TEST_CASE("a host's newer xfsprogs makes what an older kernel can mount") {
  FakeHost fake;
  const std::string profile = fake.add_mkfs_profile();
  const NodeConfig config = fake.config();
  Host host = fake.host();
  host.tool_root = fake.folder;
  Engine engine(host, config);
  const VolumeSpec spec = example_spec();
  REQUIRE(engine.copies().promise(order_of(spec)).ok());
  const std::string folder = fake.volume_folder(spec.name);
  REQUIRE(engine.mount({call_for(spec), folder, "shop", "4f0e", false}).ok());
  CHECK(fake.passed("mkfs.xfs", "-c", concat("options=", profile)));
}

TEST_CASE("a release that cannot be read decides nothing") {
  for (const char* release : {"", "next", "5", "v5.10", "99999.1"})
    CHECK(choose_mkfs_profile(kShipped, release).empty());
}

}  // namespace
}  // namespace flexlocal::engine
