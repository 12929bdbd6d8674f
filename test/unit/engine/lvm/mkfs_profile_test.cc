#include "flexvolume/engine/lvm/mkfs_profile.h"

#include <doctest/doctest.h>

namespace flexlocal::engine {
namespace {

const std::vector<std::string> kShipped = {"lts_5.4.conf",  "lts_4.19.conf", "dax_x86_64.conf",
                                           "lts_5.10.conf", "lts_6.1.conf",  "lts_5.15.conf"};

TEST_CASE("an older kernel than xfsprogs knows gets the newest profile that it can mount") {
  CHECK(choose_mkfs_profile(kShipped, "5.14.0-427.el9.x86_64") == "lts_5.10.conf");
  CHECK(choose_mkfs_profile(kShipped, "5.15.0-100-generic") == "lts_5.15.conf");
  CHECK(choose_mkfs_profile(kShipped, "5.9") == "lts_5.4.conf");
  CHECK(choose_mkfs_profile(kShipped, "6.0.12") == "lts_5.15.conf");
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

TEST_CASE("a release that cannot be read decides nothing") {
  for (const char* release : {"", "next", "5", "v5.10", "99999.1"})
    CHECK(choose_mkfs_profile(kShipped, release).empty());
}

}  // namespace
}  // namespace flexlocal::engine
