#include "flexvolume/engine/limits/pod_cgroups.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "test/unit/engine/limits/fake_cgroups.h"

namespace flexlocal::engine {
namespace {

constexpr std::chrono::milliseconds kNone{0};
const std::string kUid = "0b1c2d3e-0000-4000-8000-00000000000a";
const std::string kSliced = "0b1c2d3e_0000_4000_8000_00000000000a";

MountEntry mounted(std::string type, std::string point, std::string options = "rw") {
  return {"0:30", "/", std::move(point), std::move(type), "cgroup", std::move(options)};
}

std::string found_at(const FakeCgroups& fake, std::string_view uid = kUid) {
  const auto pod = find_pod_cgroup(fake.hierarchy(), uid, kNone);
  if (!pod) return {};
  CHECK(pod->front().path() == fake.root());
  return pod->back().path().substr(fake.root().size() + 1);
}

TEST_CASE("the hierarchy is v1 blkio wherever it is mounted, else cgroup2, else none") {
  const MountEntry v2 = mounted("cgroup2", "/sys/fs/cgroup/unified");
  const MountEntry cpu = mounted("cgroup", "/sys/fs/cgroup/cpu", "rw,cpu,cpuacct");
  const MountEntry blkio = mounted("cgroup", "/cg/io", "rw,foo,blkio");
  const auto hybrid = find_io_hierarchy({v2, cpu, blkio}, "");
  REQUIRE(hybrid.ok());
  CHECK(hybrid->version == CgroupVersion::kV1);
  CHECK(hybrid->root == "/cg/io");
  const auto unified = find_io_hierarchy({cpu, v2}, "/proc/1/root");
  REQUIRE(unified.ok());
  CHECK(unified->version == CgroupVersion::kV2);
  CHECK(unified->root == "/proc/1/root/sys/fs/cgroup/unified");
  const MountEntry lookalike = mounted("tmpfs", "/sys/fs/cgroup/blkio", "rw,blkio");
  CHECK(find_io_hierarchy({cpu, lookalike}, "").error().code() == ErrorCode::kNotFound);
}

TEST_CASE("a pod uid is a uuid or a static pod's hash, and nothing that leads anywhere") {
  CHECK(is_pod_uid(kUid));
  CHECK(is_pod_uid("0123456789abcdef0123456789abcdef"));
  for (const std::string& hostile :
       {std::string(), std::string("1"), std::string("../../x"), std::string(36, '.'), kUid + "/..",
        kUid + '\0', kUid + "\n", std::string("0123456789ABCDEF0123456789ABCDEF"),
        std::string(10240, 'a'), std::string(32, '/')})
    CHECK_FALSE(is_pod_uid(hostile));
  FakeCgroups fake;
  fake.make("kubepods");
  const auto refused = find_pod_cgroup(fake.hierarchy(), std::string(10240, '/'), kNone);
  CHECK(refused.error().code() == ErrorCode::kInvalid);
  CHECK(refused.error().message().size() < 200);
}

TEST_CASE("a pod is found in the layout of either driver and of each quality of service") {
  const std::vector<std::string> places = {
      "kubepods/pod" + kUid, "kubepods/burstable/pod" + kUid, "kubepods/besteffort/pod" + kUid,
      "kubepods.slice/kubepods-pod" + kSliced + ".slice",
      "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + kSliced + ".slice",
      "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + kSliced + ".slice",
      // below a --cgroup-root
      "kubelet/kubepods/burstable/pod" + kUid,
      "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + kSliced + ".slice",
      "a/b/c/kubepods/besteffort/pod" + kUid,
      "a.slice/a-b.slice/a-b-kubepods.slice/a-b-kubepods-burstable.slice/"
      "a-b-kubepods-burstable-pod" +
          kSliced + ".slice"};
  for (const std::string& place : places) {
    FakeCgroups fake;
    fake.make("system.slice/some.service/kubepods/pod" + kUid);
    fake.make(place);
    CHECK(found_at(fake) == place);
  }
}

TEST_CASE("a static pod is found by its hash") {
  FakeCgroups fake;
  fake.make("kubepods/burstable/pod0123456789abcdef0123456789abcdef");
  CHECK(found_at(fake, "0123456789abcdef0123456789abcdef") ==
        "kubepods/burstable/pod0123456789abcdef0123456789abcdef");
}

TEST_CASE("a cgroup that a pod made within its own is not another pod's") {
  FakeCgroups fake;
  const std::string other = "11111111-2222-4333-8444-555555555555";
  fake.make("kubepods/pod" + other + "/kubepods/pod" + kUid);
  fake.make("kubepods/pod" + other + "/pod" + kUid);
  CHECK(found_at(fake).empty());
  fake.make("kubepods/besteffort/pod" + kUid);
  CHECK(found_at(fake) == "kubepods/besteffort/pod" + kUid);
}

TEST_CASE("nothing is reached through a link") {
  FakeCgroups fake;
  FakeCgroups elsewhere;
  elsewhere.make("kubepods/pod" + kUid);
  std::filesystem::create_directory_symlink(elsewhere.root() + "/kubepods",
                                            fake.root() + "/kubepods");
  CHECK(found_at(fake).empty());
  fake.make("kubepods.slice");
  std::filesystem::create_directory_symlink(
      elsewhere.root() + "/kubepods/pod" + kUid,
      fake.root() + "/kubepods.slice/kubepods-pod" + kSliced + ".slice");
  CHECK(found_at(fake).empty());
}

TEST_CASE("a pod's cgroup that is late is waited for, and only where kubelet has cgroups") {
  FakeCgroups fake;
  int pauses = 0;
  const Pause pause = [&](std::chrono::milliseconds) {
    if (++pauses == 3) fake.make("kubepods/burstable/pod" + kUid);
  };
  const std::chrono::seconds patience{2};
  const auto none = find_pod_cgroup(fake.hierarchy(), kUid, patience, pause);
  CHECK(none.error().code() == ErrorCode::kNotFound);
  CHECK(pauses == 0);
  fake.make("kubepods");
  CHECK(find_pod_cgroup(fake.hierarchy(), kUid, patience, pause).ok());
  CHECK(pauses == 3);
}

TEST_CASE("the wait for a pod's cgroup ends") {
  FakeCgroups fake;
  fake.make("kubepods");
  std::chrono::milliseconds waited{0};
  const auto late = find_pod_cgroup(fake.hierarchy(), kUid, std::chrono::seconds(2),
                                    [&](std::chrono::milliseconds time) { waited += time; });
  CHECK(late.error().code() == ErrorCode::kNotFound);
  CHECK(waited == std::chrono::seconds(2));
}

TEST_CASE("the search for a --cgroup-root ends on a host with very many cgroups") {
  FakeCgroups fake;
  for (int i = 0; i < 3000; ++i)
    std::filesystem::create_directory(concat(fake.root(), "/folder-", i));
  CHECK(found_at(fake).empty());
}

TEST_CASE("a process's pod is told by its cgroups, of either driver and version") {
  const std::string uid = "0b1c2d3e-0000-4000-8000-00000000000b";
  const std::string slice = "kubepods-burstable-pod0b1c2d3e_0000_4000_8000_00000000000b.slice";
  for (const std::string& cgroups :
       {"0::/kubepods/pod" + uid + "/c\n", "0::/kubelet/kubepods/besteffort/pod" + uid + "\n",
        "5:memory:/\n4:blkio:/kubepods/burstable/pod" + uid + "/c\n",
        "0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/cri-containerd-c.scope\n",
        "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-" + slice + "\n",
        "0::/kubepods/pod" + uid + "/c/kubepods/pod99999999-0000-4000-8000-00000000000b\n"})
    CHECK_MESSAGE(find_pod_uid(cgroups) == uid, cgroups);
  CHECK(find_pod_uid("0::/kubepods/pod0123456789abcdef0123456789abcdef/c") ==
        "0123456789abcdef0123456789abcdef");
  for (const std::string& cgroups :
       {std::string(), "0::/system.slice/pod" + uid + "\n", "0::/user.slice/" + slice + "\n",
        std::string("0::/kubepods/pod-1/c\n"), std::string("0::/kubepods.slice/x-pod.slice\n"),
        std::string("0::/kubepods.slice/-pod\n")})
    CHECK_MESSAGE(!find_pod_uid(cgroups).has_value(), cgroups);
}

}  // namespace
}  // namespace flexlocal::engine
