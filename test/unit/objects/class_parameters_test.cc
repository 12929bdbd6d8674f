#include "provisioner/objects/class_parameters.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using Parameters = std::map<std::string, std::string>;

const std::string kAccepted =
    "accepted: backend, pool, fsType, diskPerRam, sizeFrom, onDelete, readIOPS, writeIOPS, "
    "readBandwidth, "
    "writeBandwidth, ioLimits";

Result<ClassParameters> parse(const Parameters& parameters,
                              const std::vector<std::string>& mount_options = {}) {
  StorageClass storage_class = sample_class();
  storage_class.parameters = parameters;
  storage_class.mount_options = mount_options;
  return parse_class(storage_class);
}

std::string words(const Parameters& parameters,
                  const std::vector<std::string>& mount_options = {}) {
  const auto parsed = parse(parameters, mount_options);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code() == ErrorCode::kInvalid);
  const std::string where = "StorageClass local: ";
  REQUIRE(parsed.error().message().starts_with(where));
  return parsed.error().message().substr(where.size());
}

}  // namespace

TEST_CASE("a class without parameters means an XFS on LVM in the default pool, discarded at last") {
  const auto parsed = parse({});
  REQUIRE(parsed.ok());
  CHECK(parsed->backend == engine::Backend::kLvm);
  CHECK(parsed->fs_type == engine::FsType::kXfs);
  CHECK(parsed->pool == "default");
  CHECK(parsed->on_delete == engine::OnDelete::kDiscard);
  CHECK_FALSE(parsed->limits.any());
  CHECK_FALSE(parsed->limits.required);
  CHECK(parsed->mount_options.empty());
}

TEST_CASE("every parameter reaches its field") {
  const auto parsed = parse({{"backend", "thin"},
                             {"pool", "fast-1"},
                             {"fsType", "ext4"},
                             {"onDelete", "none"},
                             {"readIOPS", "100"},
                             {"writeIOPS", "9223372036854775807"},
                             {"readBandwidth", "10Mi"},
                             {"writeBandwidth", "1"},
                             {"ioLimits", "required"}},
                            {"noatime", "discard"});
  REQUIRE(parsed.ok());
  CHECK(parsed->backend == engine::Backend::kThin);
  CHECK(parsed->pool == "fast-1");
  CHECK(parsed->fs_type == engine::FsType::kExt4);
  CHECK(parsed->on_delete == engine::OnDelete::kNone);
  CHECK(parsed->limits ==
        engine::IoLimits{100, 9223372036854775807U, Bytes(10 * kMiB.count()), Bytes(1), true});
  CHECK(parsed->mount_options == std::vector<std::string>{"noatime", "discard"});
}

TEST_CASE("the CSI spelling of fsType is taken, and must not say otherwise than ours") {
  CHECK(parse({{"csi.storage.k8s.io/fstype", "ext4"}})->fs_type == engine::FsType::kExt4);
  CHECK(parse({{"csi.storage.k8s.io/fstype", "ext4"}, {"fsType", "ext4"}}).ok());
  CHECK(words({{"csi.storage.k8s.io/fstype", "ext4"}, {"fsType", "xfs"}}) ==
        "fsType and csi.storage.k8s.io/fstype differ; give one");
}

TEST_CASE("a parameter that is unknown, or known in another spelling, is refused by its name") {
  for (const char* key : {"Pool", "POOL", "fstype", "ondelete", "readIops", "mountOptions", ""})
    CHECK(words({{key, "x"}}) ==
          std::string("parameter \"") + key + "\" is not known; " + kAccepted);
}

TEST_CASE("a value that is not kept is refused with what is accepted") {
  CHECK(words({{"backend", "thick"}}) ==
        "backend \"thick\" is not known; accepted: lvm, thin, quota");
  CHECK(words({{"fsType", "ext3"}}) == "file system \"ext3\" is not known; accepted: xfs, ext4");
  CHECK(words({{"csi.storage.k8s.io/fstype", ""}}) ==
        "file system \"\" is not known; accepted: xfs, ext4");
  CHECK(words({{"onDelete", "shred"}}) ==
        "onDelete \"shred\" is not known; accepted: discard, zero, none");
  CHECK(words({{"ioLimits", "true"}}) == "ioLimits \"true\" is not known; accepted: required");
}

TEST_CASE("a class may have a ratio of disk to RAM of its own, also none") {
  CHECK_FALSE(parse({})->disk_per_ram.has_value());
  CHECK(parse({{"diskPerRam", "12.5"}})->disk_per_ram == Ratio::of_millionths(12'500'000));
  CHECK(parse({{"diskPerRam", "0"}})->disk_per_ram == Ratio());
  CHECK(words({{"diskPerRam", "32Gi"}}) ==
        "diskPerRam: \"32Gi\" is not a number from 0 to 1000000 with at most 6 decimals, such as "
        "32 or 0.85");
}

TEST_CASE("a class may take sizes from the pod's memory, if there is a ratio to go by") {
  CHECK(parse({})->size_from == SizeFrom::kRequest);
  CHECK(parse({{"sizeFrom", "request"}, {"diskPerRam", "0"}})->size_from == SizeFrom::kRequest);
  CHECK(parse({{"sizeFrom", "podMemory"}})->size_from == SizeFrom::kPodMemory);
  CHECK(words({{"sizeFrom", "podMemory"}, {"diskPerRam", "0"}}) ==
        "sizeFrom podMemory needs a diskPerRam above 0");
  CHECK(words({{"sizeFrom", "memory"}}) ==
        "sizeFrom \"memory\" is not known; accepted: request, podMemory");
}

TEST_CASE("a pool is a name, never a path or a volume group's odd name") {
  for (const char* pool : {"", "../vg", "/dev/vg", "a b", "vg_0", "-vg", "vg;ls", "VG"})
    CHECK(words({{"pool", pool}}) == std::string("pool \"") + pool + "\" cannot be a pool's name");
}

TEST_CASE("operations per second are whole numbers, and a limit of nothing is none") {
  for (const char* key : {"readIOPS", "writeIOPS"})
    for (const char* value : {"", "0", "-1", "1.5", "1k", " 1", "9223372036854775808"})
      CHECK(words({{key, value}}) == std::string(key) + " \"" + value +
                                         "\" is not a whole number of operations per second, 1 or "
                                         "more");
}

TEST_CASE("bandwidths are quantities of bytes per second, and a limit of nothing is none") {
  for (const char* key : {"readBandwidth", "writeBandwidth"}) {
    for (const char* value : {"", "0", "0Mi", "-1", "fast", "1MB", "8Ei"})
      CHECK(words({{key, value}}) == std::string(key) + " \"" + value +
                                         "\" is not a quantity of bytes per second such as 100Mi, "
                                         "1 or more");
    CHECK(parse({{key, "1e6"}}).ok());
  }
}

TEST_CASE("required limits need a limit, and any one will do") {
  CHECK(words({{"ioLimits", "required"}}) ==
        "ioLimits \"required\" needs a limit: readIOPS, writeIOPS, readBandwidth or "
        "writeBandwidth");
  for (const char* key : {"readIOPS", "writeIOPS", "readBandwidth", "writeBandwidth"})
    CHECK(parse({{"ioLimits", "required"}, {key, "1"}})->limits.required);
}

TEST_CASE("a thin pool zeroes its blocks itself, so that no class can ask for it") {
  CHECK(
      words({{"backend", "thin"}, {"onDelete", "zero"}}) ==
      "onDelete zero is not possible with backend thin, whose pool zeroes a block itself before it "
      "hands it on; accepted: discard, none");
}

TEST_CASE("a quota folder is on a shared XFS: no other file system, no zeroing, no discard") {
  const Parameters quota = {{"backend", "quota"}};
  CHECK(parse(quota)->fs_type == engine::FsType::kXfs);
  CHECK(parse({{"backend", "quota"}, {"onDelete", "none"}}).ok());
  CHECK(words({{"backend", "quota"}, {"fsType", "ext4"}}) ==
        "backend quota has file system xfs only");
  CHECK(words({{"backend", "quota"}, {"onDelete", "zero"}}) ==
        "onDelete zero is not possible with backend quota, whose folders share the blocks of one "
        "file system; accepted: discard, none");
  CHECK(parse(quota, {"noatime"}).ok());
  CHECK(words(quota, {"discard"}) ==
        "mount option \"discard\" is not possible here; accepted: noatime, nodiratime, relatime, "
        "strictatime, noexec");
}

TEST_CASE("a mount option that weakens the volume, or hides another in it, is refused") {
  for (const char* option : {"dev", "suid", "noquota", "", "noatime,dev", "NOATIME", "bind"})
    CHECK(words({}, {"noatime", option}) ==
          std::string("mount option \"") + option +
              "\" is not possible here; accepted: noatime, nodiratime, relatime, strictatime, "
              "noexec, discard");
}

}  // namespace flexlocal::provisioner::test
