#include "flexvolume/engine/limits/io_limits.h"

#include <doctest/doctest.h>

#include <fstream>

#include "flexvolume/engine/limits/io_limiter.h"
#include "test/unit/engine/fake_host.h"
#include "test/unit/engine/limits/fake_cgroups.h"

namespace flexlocal::engine {
namespace {

constexpr std::chrono::milliseconds kNone{0};
const std::string kUid = "0b1c2d3e-0000-4000-8000-00000000000b";
const std::string kPod = "kubepods/burstable/pod" + kUid;
const IoLimits kAll{100, 200, Bytes(1048576), Bytes(2097152)};

Status limit(const FakeCgroups& fake, const IoLimits& limits = kAll) {
  const auto pod = find_pod_cgroup(fake.hierarchy(), kUid, kNone);
  if (!pod) return pod.error();
  return limit_pod(fake.hierarchy().version, *pod, "253:4", limits);
}

std::string throttle(const std::string& cgroup, const std::string& which) {
  return cgroup + "/blkio.throttle." + which + "_device";
}

TEST_CASE("io.max is read by device, and none of it by a device whose number only begins so") {
  const std::string content =
      "8:0 rbps=1 wbps=2 riops=3 wiops=4\n253:40 rbps=5 wbps=5 riops=5 wiops=5\n"
      "253:4 rbps=max wbps=1048576 riops=max wiops=120\n";
  const IoLimits limits = parse_io_max(content, "253:4");
  CHECK(limits == IoLimits{0, 120, Bytes(0), Bytes(1048576)});
  CHECK_FALSE(parse_io_max(content, "253:1").any());
  CHECK_FALSE(parse_io_max("253:4", "253:4").any());
  CHECK_FALSE(parse_io_max("", "253:4").any());
  CHECK(parse_io_max(to_io_max("253:4", kAll), "253:4") == kAll);
  CHECK(parse_throttle("8:0 7\n253:40 8\n253:4 9\n", "253:4") == 9);
  CHECK(parse_throttle("8:0 7\n", "253:4") == 0);
}

TEST_CASE("of two limits the lower holds, and none is looser than any") {
  const IoLimits one{0, 100, Bytes(0), Bytes(50)};
  const IoLimits other{300, 200, Bytes(0), Bytes(40)};
  const IoLimits both{300, 100, Bytes(0), Bytes(40)};
  CHECK(tightened(one, other) == both);
  CHECK(tightened(other, one) == both);
  CHECK(tightened(both, both) == both);
}

TEST_CASE("v2: io is enabled from the root down to the pod's parent, and io.max is the pod's") {
  FakeCgroups fake;
  fake.make(kPod + "/container");
  fake.write("cgroup.subtree_control", "cpu io\n");
  REQUIRE(limit(fake).ok());
  CHECK(fake.read("cgroup.subtree_control") == "cpu io\n");
  CHECK(fake.read("kubepods/cgroup.subtree_control") == "+io");
  CHECK(fake.read("kubepods/burstable/cgroup.subtree_control") == "+io");
  CHECK(fake.read(kPod + "/cgroup.subtree_control").empty());
  CHECK(fake.read(kPod + "/io.max") == "253:4 rbps=1048576 wbps=2097152 riops=100 wiops=200");
  CHECK(fake.read(kPod + "/container/io.max").empty());
}

TEST_CASE("v2: what another has limited more is not loosened, and nothing is written in vain") {
  FakeCgroups fake;
  fake.make(kPod);
  const std::string strict = "253:4 rbps=1 wbps=1 riops=1 wiops=1\n";
  fake.write(kPod + "/io.max", strict);
  std::filesystem::permissions(fake.root() + "/" + kPod + "/io.max",
                               std::filesystem::perms::owner_read);
  REQUIRE(limit(fake).ok());
  CHECK(fake.read(kPod + "/io.max") == strict);
}

TEST_CASE("v2: a kernel without the controller is named as what it is") {
  FakeCgroups fake;
  fake.make(kPod);
  fake.write("cgroup.controllers", "cpu iocost\n");
  const auto limited = limit(fake);
  REQUIRE_FALSE(limited.ok());
  CHECK(limited.error().code() == ErrorCode::kUnavailable);
  CHECK(limited.error().message().find("controller io") != std::string::npos);
}

TEST_CASE("v1: the pod and every cgroup below it get the four limits, a later one the next time") {
  FakeCgroups fake(CgroupVersion::kV1);
  fake.make(kPod + "/one/inner");
  REQUIRE(limit(fake).ok());
  for (const std::string& cgroup : {kPod, kPod + "/one", kPod + "/one/inner"}) {
    CHECK(fake.read(throttle(cgroup, "read_bps")) == "253:4 1048576");
    CHECK(fake.read(throttle(cgroup, "write_bps")) == "253:4 2097152");
    CHECK(fake.read(throttle(cgroup, "read_iops")) == "253:4 100");
    CHECK(fake.read(throttle(cgroup, "write_iops")) == "253:4 200");
  }
  CHECK(fake.read(throttle("kubepods/burstable", "read_bps")).empty());
  fake.make(kPod + "/two");
  REQUIRE(limit(fake).ok());
  CHECK(fake.read(throttle(kPod + "/two", "write_iops")) == "253:4 200");
}

TEST_CASE("v1: only the limits that the class has are set") {
  FakeCgroups fake(CgroupVersion::kV1);
  fake.make(kPod);
  // More operations than 32 bits hold would be cut by the kernel to something else.
  REQUIRE(limit(fake, {(1ULL << 32U) + 7, 50, Bytes(0), Bytes(0)}).ok());
  CHECK(fake.read(throttle(kPod, "write_iops")) == "253:4 50");
  for (const char* other : {"read_bps", "write_bps", "read_iops"})
    CHECK(fake.read(throttle(kPod, other)).empty());
}

TEST_CASE("a cgroup's file that is a link is not written through") {
  for (const CgroupVersion version : {CgroupVersion::kV1, CgroupVersion::kV2}) {
    FakeCgroups fake(version);
    fake.make(kPod);
    fake.write("victim", "precious");
    const std::string file =
        version == CgroupVersion::kV1 ? throttle(kPod, "read_bps") : kPod + "/io.max";
    std::filesystem::remove(fake.root() + "/" + file);
    std::filesystem::create_symlink(fake.root() + "/victim", fake.root() + "/" + file);
    const auto limited = limit(fake);
    REQUIRE_FALSE(limited.ok());
    CHECK(limited.error().code() == ErrorCode::kInvalid);
    CHECK(fake.read("victim") == "precious");
  }
}

struct Fixture {
  explicit Fixture(CgroupVersion version = CgroupVersion::kV2) : cgroups(version) {
    spec.limits = kAll;
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    fake.mounts.push_back(cgroups.mount_entry());
  }

  Status mount(const std::string& uid = kUid) {
    return engine.mount({call_for(spec), fake.volume_folder(spec.name, uid), "shop", uid, false});
  }
  // Says the spec's limits in the record.
  void order() { REQUIRE(engine.copies().follow(order_of(spec)).ok()); }
  std::uint64_t counted() const {
    return *DurableCounter(fake.folder + "/counters", fake.folder + "/locks", kIoLimitsNotApplied)
                .value();
  }
  bool warned() const { return fake.logged("volume mounted without its I/O limits"); }

  FakeHost fake;
  FakeCgroups cgroups;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
};

constexpr std::string_view kLine = "253:0 rbps=1048576 wbps=2097152 riops=100 wiops=200";

TEST_CASE_FIXTURE(Fixture, "a mount limits the pod that it is for, and each further pod") {
  const std::string other = "11111111-2222-4333-8444-555555555555";
  cgroups.make(kPod);
  cgroups.make("kubepods/pod" + other);
  REQUIRE(mount().ok());
  CHECK(cgroups.read(kPod + "/io.max") == kLine);
  CHECK(cgroups.read("kubepods/pod" + other + "/io.max").empty());
  REQUIRE(mount(other).ok());
  CHECK(cgroups.read("kubepods/pod" + other + "/io.max") == kLine);
  CHECK(counted() == 0);
  CHECK_FALSE(warned());
}

TEST_CASE_FIXTURE(Fixture, "a volume without limits asks nothing of cgroups") {
  spec.limits = {};
  order();
  cgroups.make(kPod);
  REQUIRE(mount("1").ok());
  CHECK(cgroups.read("kubepods/cgroup.subtree_control").empty());
  CHECK(counted() == 0);
}

TEST_CASE_FIXTURE(Fixture, "where limits cannot be set the mount succeeds, warned of and counted") {
  REQUIRE(mount().ok());  // kubelet has no cgroups for pods here
  CHECK(warned());
  CHECK(counted() == 1);
  fake.mounts.clear();  // no cgroups at all
  REQUIRE(mount().ok());
  CHECK(counted() == 2);
  REQUIRE(mount("../../etc").error().code() == ErrorCode::kInvalid);  // no folder of kubelet
  REQUIRE(mount("not-a-uid").ok());
  CHECK(counted() == 3);
}

TEST_CASE_FIXTURE(Fixture, "required limits that have no place refuse the mount before it begins") {
  spec.limits.required = true;
  order();
  for (const std::string& uid : {kUid, std::string("not-a-uid")}) {
    const auto mounted = mount(uid);
    REQUIRE_FALSE(mounted.ok());
    CHECK(mounted.error().code() == ErrorCode::kUnavailable);
    CHECK(mounted.error().message().find("ioLimits: required") != std::string::npos);
  }
  CHECK(fake.volumes.empty());
  CHECK(fake.mounts.size() == 1);
  CHECK(counted() == 0);
}

TEST_CASE_FIXTURE(Fixture, "required limits that the kernel refuses leave nothing mounted") {
  spec.limits.required = true;
  order();
  cgroups.make(kPod);
  cgroups.write("cgroup.controllers", "cpu\n");
  CHECK(mount().error().code() == ErrorCode::kUnavailable);
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE("a refresh limits containers that v1 got after the mount, and only where limits are") {
  Fixture f(CgroupVersion::kV1);
  f.cgroups.make(kPod);
  f.cgroups.make("kubepods/pod11111111-2222-4333-8444-555555555555/other");
  REQUIRE(f.mount().ok());
  f.cgroups.make(kPod + "/late");
  REQUIRE(f.engine.refresh_io_limits().ok());
  CHECK(f.cgroups.read(throttle(kPod + "/late", "read_iops")) == "253:0 100");
  CHECK(f.cgroups
            .read(throttle("kubepods/pod11111111-2222-4333-8444-555555555555/other", "read_iops"))
            .empty());
}

TEST_CASE_FIXTURE(Fixture, "a refresh limits a pod whose cgroup came too late for its mount") {
  REQUIRE(mount().ok());
  REQUIRE(engine.refresh_io_limits().ok());
  cgroups.make(kPod);
  REQUIRE(engine.refresh_io_limits().ok());
  CHECK(cgroups.read(kPod + "/io.max") == kLine);
}

TEST_CASE_FIXTURE(Fixture, "a refresh does nothing for what is not mounted or was removed") {
  REQUIRE(mount().ok());
  fake.mounts.resize(1);
  cgroups.make(kPod);
  REQUIRE(engine.refresh_io_limits().ok());
  CHECK(cgroups.read(kPod + "/io.max").empty());
  REQUIRE(engine.remove(spec).ok());
  CHECK(std::filesystem::is_empty(fake.folder + "/locks/io-limits"));
  fake.mounts.clear();
  CHECK(engine.refresh_io_limits().ok());
}

TEST_CASE("a counter that is not synced counts the same, and goes on from one that is") {
  FakeHost fake;
  const DurableCounter counter(fake.folder + "/counters", fake.folder + "/locks", "things");
  for (int i = 0; i < 9; ++i) REQUIRE(counter.note_one().ok());
  REQUIRE(counter.add_one().ok());
  CHECK(*counter.value() == 10);
  REQUIRE(counter.note_one().ok());
  CHECK(*counter.value() == 11);
  std::ofstream(fake.folder + "/counters/things") << "what is this";
  REQUIRE(counter.note_one().ok());
  CHECK(*counter.value() == 1);
}

TEST_CASE("a durable counter counts on, and begins anew from a damaged file") {
  FakeHost fake;
  const DurableCounter counter(fake.folder + "/counters", fake.folder + "/locks", "things");
  CHECK(*counter.value() == 0);
  REQUIRE(counter.add_one().ok());
  REQUIRE(counter.add_one().ok());
  CHECK(*counter.value() == 2);
  std::ofstream(fake.folder + "/counters/things") << "-1";
  CHECK(counter.value().error().code() == ErrorCode::kCorrupt);
  REQUIRE(counter.add_one().ok());
  CHECK(*counter.value() == 1);
}

}  // namespace
}  // namespace flexlocal::engine
