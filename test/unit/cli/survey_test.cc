#include "flexvolume/cli/survey.h"

#include <doctest/doctest.h>

#include "flexvolume/cli/lvm_facts.h"

namespace flexlocal::cli {
namespace {

TEST_CASE("the version is found in what each tool prints") {
  CHECK(version_in("  LVM version:     2.03.16(2) (2022-05-18)\n  Library version: 1.02.185\n") ==
        "2.03.16(2)");
  CHECK(version_in("mkfs.xfs version 6.1.0\n") == "6.1.0");
  CHECK(version_in("blkid from util-linux 2.38.1  (libblkid 2.38.1, 04-Aug-2022)\n") == "2.38.1");
  CHECK(version_in(" mke2fs 1.47.0 (5-Feb-2023)\n\tUsing EXT2FS Library version 1.47.0\n") ==
        "1.47.0");
  CHECK(version_in("").empty());
  CHECK(version_in("usage: none").empty());
}

TEST_CASE("a module is found by its whole name, compressed or not, never as another's need") {
  const std::string dep =
      "kernel/drivers/md/dm-thin-pool.ko: kernel/drivers/md/dm-mod.ko\n"
      "kernel/fs/xfs/xfs.ko.xz: kernel/lib/libcrc32c.ko.xz\n";
  CHECK(names_module(dep, "dm-thin-pool"));
  CHECK(names_module(dep, "xfs"));
  CHECK_FALSE(names_module(dep, "dm-mod"));
  CHECK_FALSE(names_module(dep, "thin-pool"));
  CHECK_FALSE(names_module("", "xfs"));
}

TEST_CASE("a file system is one that needs a device and has the whole name") {
  const std::string list = "nodev\tproc\n\text4\nnodev\txfsd\n\txfs\n";
  CHECK(lists_file_system(list, "xfs"));
  CHECK(lists_file_system(list, "ext4"));
  CHECK_FALSE(lists_file_system(list, "proc"));
  CHECK_FALSE(lists_file_system(list, "ext"));
}

TEST_CASE("groups with their disks are read from LVM's report") {
  const auto groups = parse_group_facts(
      R"({"report":[{"vg":[{"vg_name":"d1","vg_size":"1069547520","vg_free":"746586112",)"
      R"("pv_count":"2","vg_missing_pv_count":"1","vg_extent_size":"4194304"}]}]})");
  REQUIRE(groups.ok());
  REQUIRE(groups->size() == 1);
  CHECK(groups->front().name == "d1");
  CHECK(groups->front().disks == 2);
  CHECK(groups->front().missing_disks == 1);
  CHECK(groups->front().free == Bytes(746586112));
}

TEST_CASE("thin pools are read from LVM's report, as lvs printed them") {
  const auto volumes = parse_volume_facts(
      R"({"report":[{"lv":[
        {"vg_name":"d1","lv_name":"thick","segtype":"linear","zero":"unknown",
         "data_percent":"","metadata_percent":""},
        {"vg_name":"d1","lv_name":"off","segtype":"thin-pool","zero":"","data_percent":"99.99",
         "metadata_percent":"10.94"},
        {"vg_name":"d1","lv_name":"on","segtype":"thin-pool","zero":"zero","data_percent":"100.00",
         "metadata_percent":"0.00"}]}]})");
  REQUIRE(volumes.ok());
  REQUIRE(volumes->size() == 3);
  CHECK_FALSE((*volumes)[0].zeroes);
  CHECK_FALSE((*volumes)[0].data_percent.has_value());
  CHECK_FALSE((*volumes)[1].zeroes);
  CHECK((*volumes)[1].data_percent == 100U);
  CHECK((*volumes)[2].zeroes);
  CHECK((*volumes)[2].data_percent == 100U);
}

TEST_CASE("a report that is none is corrupt, never empty") {
  for (const std::string report :
       {"", "{}", "[]", "null", R"({"report":[]})", R"({"report":[{"vg":{}}]})",
        R"({"report":[{"vg":[{"vg_name":"d","vg_size":"-1"}],"lv":[{"data_percent":"x"}]}]})"}) {
    CHECK(parse_group_facts(report).ok() == false);
    CHECK(parse_volume_facts(report).ok() == false);
  }
}

}  // namespace
}  // namespace flexlocal::cli
