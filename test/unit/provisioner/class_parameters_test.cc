#include "provisioner/class_parameters.h"

#include <doctest/doctest.h>

#include "test/unit/provisioner/samples.h"

namespace flexlocal::provisioner::test {
namespace {

Result<ClassParameters> parse(const std::map<std::string, std::string>& parameters) {
  StorageClass storage_class = sample_class();
  storage_class.parameters = parameters;
  return parse_class(storage_class);
}

std::string words(const std::map<std::string, std::string>& parameters) {
  const auto parsed = parse(parameters);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().code() == ErrorCode::kInvalid);
  return parsed.error().message();
}

}  // namespace

TEST_CASE("a class without parameters means an XFS on LVM in the default pool") {
  const auto parsed = parse({});
  REQUIRE(parsed.ok());
  CHECK(parsed->backend == engine::Backend::kLvm);
  CHECK(parsed->fs_type == engine::FsType::kXfs);
  CHECK(parsed->pool == "default");
}

TEST_CASE("every parameter that is known is taken, the CSI spelling of fsType too") {
  CHECK(parse({{"backend", "lvm"}, {"fsType", "xfs"}, {"pool", "fast-1"}})->pool == "fast-1");
  CHECK(parse({{"csi.storage.k8s.io/fstype", "xfs"}}).ok());
}

TEST_CASE("a parameter that is unknown, or known in another spelling, is refused by its name") {
  for (const char* key : {"Pool", "POOL", "fstype", "onDelete", "readIOPS", ""})
    CHECK(words({{key, "x"}}) == std::string("StorageClass local: parameter \"") + key +
                                     "\" is not known; accepted: backend, pool, fsType");
}

TEST_CASE("a value that is not kept is refused with what is accepted") {
  CHECK(words({{"backend", "thick"}}) ==
        "StorageClass local: backend \"thick\" is not known; accepted: lvm, thin, quota");
  CHECK(words({{"fsType", "ext3"}}) ==
        "StorageClass local: file system \"ext3\" is not known; accepted: xfs, ext4");
  CHECK(words({{"csi.storage.k8s.io/fstype", ""}}) ==
        "StorageClass local: file system \"\" is not known; accepted: xfs, ext4");
}

TEST_CASE("a pool is a name, never a path or a volume group's odd name") {
  for (const char* pool : {"", "../vg", "/dev/vg", "a b", "vg_0", "-vg", "vg;ls", "VG"})
    CHECK(words({{"pool", pool}}) ==
          std::string("StorageClass local: pool \"") + pool + "\" cannot be a pool's name");
}

TEST_CASE("mount options are refused, since kubelet would refuse the volume later") {
  StorageClass storage_class = sample_class();
  storage_class.has_mount_options = true;
  const auto parsed = parse_class(storage_class);
  REQUIRE_FALSE(parsed.ok());
  CHECK(parsed.error().message().find("mountOptions are not supported") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
