// The engine's readers of what other programs wrote: LVM's reports, the mount table, node.conf,
// superblocks.
#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/host/mount_table.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/lvm/lvm.h"
#include "flexvolume/engine/lvm/mapper_name.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

TEST_CASE("vgs: groups in bytes") {
  const auto groups = parse_volume_groups(R"({
      "report": [{"vg": [
          {"vg_name":"data", "vg_size":"1069547520", "vg_free":"125829120", "vg_extent_size":"4194304"}
      ]}]})");
  REQUIRE(groups.ok());
  REQUIRE(groups->size() == 1);
  CHECK((*groups)[0].name == "data");
  CHECK((*groups)[0].free == Bytes(120 * kMiB.count()));
}

TEST_CASE("lvs: a volume of ours, a stranger's, and the device's uuid as device-mapper writes it") {
  const auto volumes = parse_logical_volumes(R"({"report":[{"lv":[
      {"vg_name":"data","vg_uuid":"aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg","lv_name":"pvc-0b1c2d3e-0000-4000-8000-00000000000a",
       "lv_uuid":"hhhhhh-iiii-jjjj-kkkk-llll-mmmm-nnnnnn","lv_size":"536870912","lv_device_open":"open","lv_active":"active",
       "lv_tags":"flexlocal.io/attempt=ab,flexlocal.io/copy=c0c1c2c3c4c5c6c7,flexlocal.io/claim-namespace=shop,flexlocal.io/claim-uid=0b1c2d3e-0000-4000-8000-00000000000a,flexlocal.io/cluster=11111111-2222-4333-8444-555555555555,flexlocal.io/fs=xfs,flexlocal.io/owner=flexlocal,flexlocal.io/pool=default,flexlocal.io/size=536870912,flexlocal.io/state=ready"},
      {"vg_name":"data","vg_uuid":"a","lv_name":"root","lv_uuid":"b","lv_size":"1","lv_device_open":"","lv_active":"","lv_tags":"x"}
      ]}]})");
  REQUIRE(volumes.ok());
  REQUIRE(volumes->size() == 2);
  const LogicalVolume& ours = (*volumes)[0];
  CHECK(ours.device_uuid == "LVM-aaaaaabbbbccccddddeeeeffffgggggghhhhhhiiiijjjjkkkkllllmmmmnnnnnn");
  CHECK(ours.open);
  CHECK(ours.active);
  REQUIRE(ours.ownership.has_value());
  CHECK(ours.ownership->ready);
  CHECK(owns(*ours.ownership, example_spec()));
  CHECK_FALSE((*volumes)[1].ownership.has_value());
  CHECK_FALSE((*volumes)[1].open);
}

TEST_CASE("lvs -a: the components that are active though nobody uses them, at every depth") {
  const auto row = [](std::string_view name, std::string_view parent, std::string_view state) {
    return concat(R"({"lv_name":"[)", name, R"(]","lv_parent":"[)", parent, R"(]",)", state, '}');
  };
  constexpr std::string_view kIdle =
      R"("lv_active":"active","lv_device_open":"","lv_permissions":"writeable")";
  constexpr std::string_view kOpen =
      R"("lv_active":"active","lv_device_open":"open","lv_permissions":"writeable")";
  constexpr std::string_view kDown =
      R"("lv_active":"","lv_device_open":"unknown","lv_permissions":"writeable")";
  constexpr std::string_view kWithoutTable =
      R"("lv_active":"active","lv_device_open":"unknown","lv_permissions":"unknown")";
  constexpr std::string_view kByPerson =
      R"("lv_active":"active","lv_device_open":"","lv_permissions":"read-only-override")";
  const auto idle = [&](std::initializer_list<std::string> rows) {
    const std::vector<std::string> all(rows);
    return parse_idle_components(concat(R"({"report":[{"lv":[)", join(all, ","), "]}]}"), "tp");
  };
  CHECK(*idle({row("tp_tdata", "tp", kOpen), row("tp_tdata_rimage_0", "tp_tdata", kIdle),
               row("tp_tmeta", "tp", kIdle), row("other_tmeta", "other", kIdle)}) ==
        std::vector<std::string>{"tp_tmeta", "tp_tdata_rimage_0"});
  CHECK(idle({row("tp_tdata", "tp", kDown), row("tp_tmeta", "tp", kByPerson)})->empty());
  CHECK(idle({row("tp_tdata", "tp", kWithoutTable)})->size() == 1);
  const auto half_made = [&](std::string_view name) {
    return *parse_half_made(
        concat(R"({"report":[{"lv":[{"lv_name":")", name, R"(","lv_parent":"",)", kIdle, "}]}]}"),
        "v");
  };
  CHECK(half_made("v_rmeta_0"));
  CHECK_FALSE(half_made("[v_rmeta_0]"));
  CHECK_FALSE(half_made("w_rmeta_0"));
  CHECK_FALSE(half_made("v_rmeta_1_extracted"));
  CHECK(idle({row("tp", "tp", kIdle)}).ok());  // one that is its own parent is no endless walk
}

TEST_CASE("lvs: a snapshot's origin, and a cache that keeps nothing back") {
  const auto volume = [](std::string_view layout, std::string_view role) {
    const auto all = parse_logical_volumes(concat(
        R"({"report":[{"lv":[{"vg_name":"data","vg_uuid":"g","lv_name":"v","lv_uuid":"u",)",
        R"("lv_size":"4194304","lv_layout":")", layout, R"(","lv_role":")", role, "\"}]}]}"));
    REQUIRE(all.ok());
    return all->at(0);
  };
  CHECK(volume("linear", "public,origin,thickorigin").has_snapshots);
  CHECK(volume("linear", "public,origin,extthinorigin").has_snapshots);
  CHECK_FALSE(volume("thin,sparse", "public,origin,thinorigin").has_snapshots);
  CHECK_FALSE(volume("linear", "public").has_snapshots);
  CHECK(volume("cache", "public,cache").cached);
  CHECK(volume("writecache", "public").cached);
  CHECK_FALSE(volume("linear", "public").cached);
  const auto through = [](std::string_view mode) {
    return *parse_writes_through(concat(R"({"report":[{"lv":[{"cache_mode":")", mode, "\"}]}]}"));
  };
  CHECK(through("writethrough"));
  CHECK_FALSE(through("writeback"));
  CHECK_FALSE(through(""));
  CHECK_FALSE(*parse_writes_through(R"({"report":[{"lv":[]}]})"));
}

TEST_CASE("device-mapper's name of a logical volume, hyphens doubled") {
  const auto parsed = [](std::string_view name) {
    const MapperName mapped = parse_mapper_name(name);
    return concat(mapped.group, '|', mapped.volume);
  };
  CHECK(parsed("data-v") == "data|v");
  CHECK(parsed("my--data-pvc--1--2") == "my-data|pvc-1-2");
  CHECK(parsed("a---v") == "a-|v");
  CHECK(parsed("data-v-cow") == "|");
  CHECK(parsed("data-tp-tpool") == "|");
  CHECK(parsed("mpatha") == "|");
  CHECK(parsed("data-") == "|");
  CHECK(parsed("") == "|");
}

TEST_CASE("how large a file system is stands in its start") {
  std::string xfs(kSuperblockBytes, '\0');
  xfs.replace(0, 16, std::string_view("XFSB\0\0\x10\0\0\0\0\1\0\0\0\2", 16));
  CHECK(file_system_size(xfs) == Bytes(4096 * 0x100000002ULL));
  std::string ext4(kSuperblockBytes, '\0');
  ext4.replace(1080, 2, "\x53\xef");
  ext4.replace(1024 + 4, 4, std::string_view("\0\0\2\0", 4));
  ext4[1024 + 24] = 2;
  CHECK(file_system_size(ext4) == Bytes(4096ULL << 17U));
  ext4[1024 + 336] = 1;
  CHECK(file_system_size(ext4) == Bytes(4096ULL << 17U));
  ext4[1024 + 96] = '\x80';
  CHECK(file_system_size(ext4) == Bytes(4096 * ((1ULL << 32U) + (1ULL << 17U))));
  CHECK(file_system_size(std::string(kSuperblockBytes, '\0')) == Bytes(0));
  CHECK(file_system_size("XFSB") == Bytes(0));
}

TEST_CASE("an ext4 ends with a block group or within one") {
  std::string ext4(kSuperblockBytes, '\0');
  CHECK_FALSE(ends_with_a_group(ext4));
  ext4.replace(1080, 2, "\x53\xef");
  CHECK_FALSE(ends_with_a_group(ext4));  // a damaged one, with groups of no blocks
  ext4[1024 + 33] = '\x20';              // 8,192 blocks a group, as those of 1 KiB have
  ext4[1024 + 20] = 1;                   // and the first block is none of a group
  ext4.replace(1024 + 4, 4, std::string_view("\x01\0\x01\0", 4));
  CHECK(ends_with_a_group(ext4));
  ext4[1024 + 4] = 2;
  CHECK_FALSE(ends_with_a_group(ext4));
  CHECK_FALSE(ends_with_a_group("XFSB"));
}

TEST_CASE("lvs: a thin volume's pool; a cache's is none") {
  const auto pool = [](std::string_view layout, std::string_view name) {
    const auto volumes = parse_logical_volumes(
        concat(R"({"report":[{"lv":[{"vg_name":"data","lv_name":"v","lv_uuid":"u","lv_size":"1",)",
               R"("lv_layout":")", layout, R"(","pool_lv":")", name, R"("}]}]})"));
    return volumes->front().thin_pool;
  };
  CHECK(pool("thin,sparse", "tp") == "tp");
  CHECK(pool("cache", "[fast_cpool]").empty());
  CHECK(pool("linear", "").empty());
}

TEST_CASE("lvs: a volume with our owner tag, though no claim's, and one with nearly that tag") {
  const auto owned = [](std::string_view tags) {
    const auto volumes = parse_logical_volumes(
        concat(R"({"report":[{"lv":[{"vg_name":"data","lv_name":"v","lv_uuid":"u","lv_size":"1",)",
               R"("lv_tags":")", tags, R"("}]}]})"));
    return volumes->front().owned;
  };
  CHECK(owned(concat("x,", kOwnerTag)));
  CHECK_FALSE(owned(concat(kOwnerTag, "2")));
  CHECK_FALSE(owned(""));
}

TEST_CASE("lvs: a column that is yes or no says yes in words or in figures, and in no other way") {
  const auto zeroes = [](std::string_view value) {
    const auto pool = parse_thin_pool(
        concat(
            R"({"report":[{"lv":[{"lv_name":"p","pool_lv":"","lv_size":"1","data_percent":"1.00",)",
            R"("metadata_percent":"1.00","lv_health_status":"","lv_skip_activation":"","zero":")",
            value, R"("}]}]})"),
        "p");
    REQUIRE(pool.ok());
    return pool->zeroing;
  };
  CHECK(zeroes("zero"));
  CHECK(zeroes("1"));
  for (const char* no : {"", "0", "-1", "unknown", "no"}) CHECK_FALSE(zeroes(no));
}

TEST_CASE("vgs: groups are told once, in whatever order their volumes are") {
  const auto row = [](std::string_view group, std::string_view name) {
    return concat(R"({"vg_name":")", group, R"(","vg_uuid":"v","vg_size":"8","vg_free":"4",)",
                  R"("vg_extent_size":"1","lv_name":")", name, R"(","lv_uuid":"u","lv_size":"1"})");
  };
  const auto inventory = parse_inventory(concat(R"({"report":[{"vg":[)", row("a", "1"), ',',
                                                row("b", "2"), ',', row("a", "3"), "]}]}"));
  REQUIRE(inventory.ok());
  REQUIRE(inventory->groups.size() == 2);
  CHECK(inventory->groups[0].name == "a");
  CHECK(inventory->groups[1].name == "b");
}

TEST_CASE("dmsetup: devices that are suspended, or have a second table") {
  const auto rows = parse_mapper_rows(
      "a/Active/Live\nb--c-d/Suspended/Live\ne/Active/Both\nf/Active/None\n"
      "g/Suspended/Inactive\n");
  REQUIRE(rows.ok());
  std::string unfinished;
  for (const MapperRow& row : *rows)
    if (row.unfinished()) unfinished += concat(row.name, row.suspended ? "!" : "", " ");
  CHECK(unfinished == "b--c-d! e g! ");
  CHECK(parse_mapper_rows("No devices found\n")->empty());
  CHECK(parse_mapper_rows("")->empty());
  for (const char* text : {"a/Active", "/Active/Live", "a/b/Active/Live"})
    CHECK(parse_mapper_rows(text).error().code() == ErrorCode::kCorrupt);
}

TEST_CASE("lvs: a pool's number for a thin volume, or that the volume is gone") {
  const auto id = [](std::string_view rows) {
    return parse_thin_id(concat(R"({"report":[{"lv":[)", rows, "]}]}"));
  };
  CHECK(*id(R"({"thin_id":"7"})") == 7);
  CHECK(id("").error().code() == ErrorCode::kNotFound);
  CHECK(id(R"({"thin_id":""})").error().code() == ErrorCode::kCorrupt);
  CHECK(id(R"({"thin_id":"1 2"})").error().code() == ErrorCode::kCorrupt);
}

TEST_CASE("a report that is not one is an error, never an empty list") {
  for (const auto* report :
       {"", "{}", "[]", R"({"report":[]})", R"({"report":[{"vg":[]}]})",
        R"({"report":[{"lv":[{"vg_name":"d","lv_name":"x","lv_uuid":"u","lv_size":"12MB"}]}]})",
        R"({"report":[{"lv":[{"lv_size":"12"}]}]})"}) {
    const auto volumes = parse_logical_volumes(report);
    REQUIRE_FALSE_MESSAGE(volumes.ok(), report);
    CHECK(volumes.error().code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE("mountinfo: octal escapes and optional fields") {
  const auto first = parse_mount_line(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue");
  REQUIRE(first.has_value());
  CHECK(first->mount_point == "/mnt2");
  CHECK(first->source == "/dev/root");
  const auto second =
      parse_mount_line("40 35 253:4 / /a\\040b\\134c rw - xfs /dev/mapper/x rw,prjquota");
  REQUIRE(second.has_value());
  CHECK(second->mount_point == "/a b\\c");
  CHECK(second->device == "253:4");
  CHECK(second->fs_type == "xfs");
  CHECK_FALSE(parse_mount_line("rubbish").has_value());
  CHECK_FALSE(parse_mount_line("41 35 253:4 / /short rw -").has_value());
}

TEST_CASE("superblocks: complete, in progress, another's, none") {
  const std::string uuid = example_spec().name.claim_uid();
  CHECK(classify_superblock(xfs_start(uuid, false), FsType::kXfs, uuid) == Content::kComplete);
  CHECK(classify_superblock(xfs_start(uuid, true), FsType::kXfs, uuid) == Content::kIncomplete);
  CHECK(classify_superblock(xfs_start("99999999-9999-4999-8999-999999999999", false), FsType::kXfs,
                            uuid) == Content::kForeign);
  CHECK(classify_superblock(std::string(kSuperblockBytes, '\0'), FsType::kXfs, uuid) ==
        Content::kBlank);
  CHECK(classify_superblock(std::string(kSuperblockBytes, 'x'), FsType::kXfs, uuid) ==
        Content::kForeign);
  CHECK(classify_superblock("XFSB", FsType::kXfs, uuid) == Content::kForeign);
  CHECK(classify_superblock(xfs_start(uuid, false), FsType::kExt4, uuid) == Content::kForeign);
  CHECK(classify_superblock(ext4_start(uuid), FsType::kExt4, uuid) == Content::kComplete);
  CHECK(classify_superblock(ext4_start(uuid), FsType::kXfs, uuid) == Content::kForeign);
  CHECK(classify_superblock(ext4_start("99999999-9999-4999-8999-999999999999"), FsType::kExt4,
                            uuid) == Content::kForeign);
}

TEST_CASE("node.conf: pools, tools, kubelet's folder") {
  const auto config = parse_node_config(
      "# a comment\nkubelet-dir = /data/kubelet\nlog-level = debug\n"
      "[pool.default]\nvolume-group = data\n[pool.fast]\nvolume-group = nvme-1\n[tool]\nmkfs.xfs = "
      "/opt/mkfs.xfs\n",
      "node.conf");
  REQUIRE(config.ok());
  CHECK(config->kubelet_dir == "/data/kubelet");
  CHECK(config->log_level == LogLevel::kDebug);
  CHECK(config->pools.at("fast").volume_group == "nvme-1");
  CHECK(config->tools.at("mkfs.xfs") == "/opt/mkfs.xfs");
  const auto unknown = find_pool(*config, "slow");
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().message().find("default, fast") != std::string::npos);
}

TEST_CASE("node.conf: what a pool can be") {
  const auto config = parse_node_config(
      "[pool.thin]\nvolume-group = data\nthin-pool = tp\novercommit = 2.5\n"
      "[pool.mirror]\nvolume-group = data\nlayout = raid1\n"
      "[pool.shared]\nquota-path = /srv/fast\n[pool.own]\nvolume-group = data\nquota-size = "
      "100Gi\n",
      "node.conf");
  REQUIRE(config.ok());
  CHECK(config->pools.at("thin").thin_pool == "tp");
  CHECK(config->pools.at("thin").overcommit_percent == 250);
  CHECK(config->pools.at("mirror").layout.kind == Layout::Kind::kRaid1);
  CHECK(config->pools.at("shared").quota_path == "/srv/fast");
  CHECK(config->pools.at("shared").volume_group.empty());
  CHECK(config->pools.at("own").quota_size == Bytes(100 * kGiB.count()));
}

TEST_CASE("node.conf: a pool that says too little, too much or nonsense is refused") {
  const std::string group = "[pool.default]\nvolume-group = data\n";
  for (const std::string& text :
       {std::string("[pool.default]\nlayout = raid1\n"), group + "overcommit = 0.5\n",
        group + "overcommit = 101\n", group + "overcommit = 1.234\n", group + "overcommit = 1.\n",
        group + "overcommit = -1\n", group + "layout = striped:1\n",
        group + "quota-path = /srv/a b\n", group + "quota-path = srv\n",
        group + "quota-path = /srv\nquota-size = 1Gi\n", group + "quota-size = lots\n",
        std::string("[pool.default]\nquota-size = 1Gi\n"), group + "thin-pool = -x\n"}) {
    const auto config = parse_node_config(text, "node.conf");
    REQUIRE_FALSE_MESSAGE(config.ok(), text);
    CHECK(config.error().message().starts_with("node.conf"));
  }
}

TEST_CASE("node.conf: what is wrong is named with its key") {
  for (const auto* text :
       {"", "kubelet-dir = relative\n", "[pool.default]\nvolume-group = -x\n", "color = blue\n",
        "[pool.Default]\nvolume-group = data\n", "[pool.default]\nthin-pool = t\n",
        "[tool]\nrm = /bin/rm\n", "[tool]\nlvs = ../lvs\n", "log-level = loud\n", "just words\n",
        "[pool.default]\nvolume-group = a\nvolume-group", "%invalid_line%\n",
        "[pool.a]\nvolume-group = a\novercommit = 100.01\n"}) {
    const auto config = parse_node_config(text, "node.conf");
    REQUIRE_FALSE_MESSAGE(config.ok(), text);
    CHECK(config.error().message().starts_with("node.conf"));
  }
}

}  // namespace
}  // namespace flexlocal::engine
