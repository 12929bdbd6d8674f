// Volumes for one pod at a time: ReadWriteOncePod, which kubelet does not keep for a driver that
// does not attach.
#include <doctest/doctest.h>

#include <fstream>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/volume_folder.h"
#include "flexvolume/engine/volume_holder.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirst = "0b1c2d3e-0000-4000-8000-0000000000f1";
constexpr std::string_view kSecond = "0b1c2d3e-0000-4000-8000-0000000000f2";
constexpr std::string_view kOtherClaim = "0b1c2d3e-0000-4000-8000-0000000000ff";

struct OnePod {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = with_mode(AccessMode::kReadWriteOncePod);
  RecordStore records{fake.folder + "/records"};

  OnePod() { REQUIRE(engine.copies().promise(order_of(spec)).ok()); }
  static VolumeSpec with_mode(AccessMode mode) {
    VolumeSpec spec = example_spec();
    spec.access_mode = mode;
    return spec;
  }
  std::string folder(std::string_view pod) {
    return fs::canonical(fake.volume_folder(spec.name, std::string(pod))).string();
  }
  MountRequest request(std::string_view pod, const std::string& name) {
    return {.volume = call_for(spec),
            .folder = fake.volume_folder(spec.name, std::string(pod)),
            .pod_namespace = "shop",
            .pod_uid = std::string(pod),
            .pod_name = name};
  }
  Status mount(std::string_view pod, const std::string& name = "web-0") {
    return engine.mount(request(pod, name));
  }
  void refuses(std::string_view pod, const std::string& words) {
    const std::size_t before = fake.mounts.size();
    const auto mounted = mount(pod, "web-1");
    REQUIRE_FALSE(mounted.ok());
    CHECK(mounted.error().code() == ErrorCode::kBusy);
    CHECK_MESSAGE(mounted.error().message().find(words) != std::string::npos,
                  mounted.error().message());
    CHECK(fake.mounts.size() == before);
  }
  // The claim and its mode; the mode alone is no promise.
  std::pair<std::string, AccessMode> recorded() {
    const auto record = records.load(spec.name);
    REQUIRE(record.ok());
    REQUIRE(record->has_value());
    return {(*record)->claim_uid, (*record)->spec.access_mode};
  }
  Result<Record> follow(const VolumeSpec& ordered, std::string_view claim) {
    OrderedCopy order = order_of(ordered);
    order.claim_uid = claim;
    return engine.copies().follow(order);
  }
  // A process of the host with a mount namespace of its own, which shows one mount.
  void have_process(const std::string& number, const std::string& cgroups,
                    const std::string& mount_point, const std::string& source) {
    const std::string process = concat(fake.folder, "/proc/", number);
    fs::create_directories(process + "/ns");
    std::ofstream(process + "/ns/mnt") << number;
    std::ofstream(process + "/cgroup") << cgroups;
    std::ofstream(process + "/mountinfo")
        << concat("18 1 253:0 / ", mount_point, " rw - xfs ", source, " rw\n");
  }
  std::string device() { return fake.mounts.front().source; }
};

TEST_CASE_FIXTURE(OnePod, "a second pod is refused in words that name the first, then gets it") {
  REQUIRE(mount(kFirst).ok());
  refuses(kSecond, concat("volume uses the ReadWriteOncePod access mode and is already in use by "
                          "another pod: shop/web-0 (uid ",
                          kFirst, ") has it at ", folder(kFirst),
                          "; this pod gets it as soon as that mount is gone: delete that pod"));
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  REQUIRE(mount(kSecond, "web-1").ok());
  refuses(kFirst, concat("shop/web-1 (uid ", kSecond, ") has it"));
}

TEST_CASE_FIXTURE(OnePod, "the same pod mounts as often as kubelet asks") {
  REQUIRE(mount(kFirst).ok());
  REQUIRE(mount(kFirst).ok());
  CHECK(fake.mounts.size() == 1);
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  REQUIRE(mount(kFirst).ok());
  CHECK(fake.mounts.size() == 1);
}

TEST_CASE_FIXTURE(OnePod, "a mount that failed does not keep the next pod away") {
  REQUIRE(mount(kFirst).ok());
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  fake.failing = "mount";
  CHECK(mount(kFirst).error().code() == ErrorCode::kCorrupt);
  fake.failing.clear();
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "the pod is the one whose folder it is, whatever the options say") {
  REQUIRE(mount(kFirst).ok());
  auto second = request(kSecond, "web-0");
  second.pod_uid = kFirst;
  const auto refused = [&] {
    const auto mounted = engine.mount(second);
    return !mounted && mounted.error().code() == ErrorCode::kBusy;
  };
  CHECK(refused());
  const std::string source = device();
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  have_process("17", concat("0::/kubepods/pod", kFirst, "/abc\n"), "/data", source);
  CHECK(refused());
}

TEST_CASE_FIXTURE(OnePod, "after a reboot, when no mount is there, the next pod gets it") {
  REQUIRE(mount(kFirst).ok());
  fake.mounts.clear();
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "a subPath that is still mounted in the first pod's folder keeps it") {
  REQUIRE(mount(kFirst).ok());
  MountEntry sub_path = fake.mounts.front();
  sub_path.root = "/sub";
  const std::string pods = folder(kFirst).substr(0, folder(kFirst).find("/volumes/"));
  sub_path.mount_point = concat(pods, "/volume-subpaths/", spec.name.text(), "/c/0");
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  fake.mounts.push_back(sub_path);
  refuses(kSecond, concat("(uid ", kFirst, ") has it at ", sub_path.mount_point));
  CHECK(mount(kFirst).ok());
}

TEST_CASE_FIXTURE(OnePod, "other volumes' mounts, and mounts outside of pods, keep nobody away") {
  fake.mounts.push_back(
      {"253:9", "/", fake.folder + "/kubelet/pods/x/volumes/a", "xfs", "/dev/b", ""});
  REQUIRE(mount(kFirst).ok());
  MountEntry backup = fake.mounts.back();
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  backup.mount_point = "/mnt/backup";
  fake.mounts.push_back(backup);
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "a pod's name that is not known, or is of an earlier pod, is left out") {
  REQUIRE(mount(kFirst).ok());
  const std::string note = concat(fake.folder, "/locks/pod-names/", spec.name.text());
  std::ofstream(note) << kSecond << "\nshop/other\n";
  refuses(kSecond, concat("another pod: (uid ", kFirst, ") has it"));
  fs::remove(note);
  refuses(kSecond, concat("another pod: (uid ", kFirst, ") has it"));
  std::ofstream(note) << kFirst << "\nshop/a\x1b[31m\n";
  refuses(kSecond, concat("another pod: shop/a?[31m (uid ", kFirst, ")"));
}

TEST_CASE_FIXTURE(OnePod, "the pod's name is forgotten with the volume") {
  REQUIRE(mount(kFirst).ok());
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  REQUIRE(engine.remove(spec)->done);
  CHECK_FALSE(fs::exists(concat(fake.folder, "/locks/pod-names/", spec.name.text())));
}

TEST_CASE_FIXTURE(OnePod, "a volume that is ReadWriteOnce is for all pods of the node") {
  const VolumeSpec open = with_mode(AccessMode::kReadWriteOnce);
  REQUIRE(engine.copies().follow(order_of(open)).ok());
  REQUIRE(mount(kFirst).ok());
  REQUIRE(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "a container that sees the volume without kubelet's mount keeps it") {
  REQUIRE(mount(kFirst).ok());
  const std::string source = device();
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  have_process("17", concat("4:memory:/\n0::/kubepods/burstable/pod", kFirst, "/abc\n"), "/data",
               source);
  refuses(kSecond, concat("shop/web-0 (uid ", kFirst, ") has it at /data of process 17"));
  CHECK(mount(kFirst).ok());
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  fs::remove_all(fake.folder + "/proc/17");
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod,
                  "processes of no pod, and copies of the host's mounts, keep nobody away") {
  REQUIRE(mount(kFirst).ok());
  const std::string source = device();
  const std::string copied = folder(kFirst);
  REQUIRE(engine.unmount(copied).ok());
  const std::string monitor = concat("0::/kubepods/pod", kOtherClaim, "/abc\n");
  have_process("1", "0::/system.slice/cron.service\n", "/data", source);
  have_process("2", monitor, "/host" + copied, source);
  have_process("3", monitor, concat("/host/kubelet/pods/", kFirst, "/volume-subpaths/v/c/0"),
               source);
  have_process("4", monitor, "/data", "/dev/mapper/data-other");
  REQUIRE(mount(kSecond).ok());
}

// Whoever makes a mount chooses what the table calls it.
TEST_CASE_FIXTURE(OnePod, "no other pod than the one that had it last keeps the next one away") {
  REQUIRE(mount(kFirst).ok());
  const std::string source = device();
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  have_process("17", concat("0::/kubepods/pod", kOtherClaim, "/abc\n"), "/x", source);
  have_process("18", concat("0::/kubepods/pod", kOtherClaim, "/abc\n"), "/x", source);
  fs::remove(fake.folder + "/proc/18/mountinfo");
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "a mount table that cannot be read is no proof that nobody has it") {
  REQUIRE(mount(kSecond).ok());
  REQUIRE(engine.unmount(folder(kSecond)).ok());
  have_process("17", concat("0::/kubepods/pod", kSecond, "/abc\n"), "/data", "/dev/x");
  fs::remove(fake.folder + "/proc/17/mountinfo");
  const auto mounted = mount(kFirst);
  REQUIRE_FALSE(mounted.ok());
  CHECK(mounted.error().message().starts_with("looking whether another pod has the volume: "));
  CHECK(fake.mounts.empty());
}

TEST_CASE_FIXTURE(OnePod,
                  "two containers of one namespace of mounts are told apart by their pods") {
  REQUIRE(mount(kFirst).ok());
  const std::string source = device();
  REQUIRE(engine.unmount(folder(kFirst)).ok());
  have_process("17", "0::/user.slice\n", "/data", source);  // a person who entered it
  have_process("18", concat("0::/kubepods/pod", kFirst, "/abc\n"), "/data", source);
  fs::remove(fake.folder + "/proc/18/ns/mnt");
  fs::create_hard_link(fake.folder + "/proc/17/ns/mnt", fake.folder + "/proc/18/ns/mnt");
  refuses(kSecond, "/data of process 18");
}

TEST_CASE("a quota folder is told from its neighbours on the shared file system") {
  MountSource source;
  source.device = "/dev/shared";
  source.root = "/v/a";
  const std::string own = "/k/pods/1/volumes/flexlocal.io~flexlocal/a";
  const auto holder = [&](const std::string& root, const std::string& mount_point) {
    const std::vector<MountEntry> table = {{"7:0", root, mount_point, "xfs", "/dev/shared", ""}};
    return find_holder(table, source, own).has_value();
  };
  CHECK(holder("/v/a", "/k/pods/2/volumes/flexlocal.io~flexlocal/a"));
  CHECK(holder("/v/a/sub", "/k/pods/2/volume-subpaths/a/c/0"));
  CHECK_FALSE(holder("/v/a", own));
  CHECK_FALSE(holder("/v/ab", "/k/pods/2/volumes/flexlocal.io~flexlocal/ab"));
  CHECK_FALSE(holder("/", "/srv"));
  CHECK_FALSE(holder("/v/a", "/other/pods/2/volumes/flexlocal.io~flexlocal/a"));
  CHECK(pod_uid_of(own) == "1");
}

TEST_CASE("the promised access survives every kill on the volume's way, and every failure") {
  for (const bool after : {false, true})
    for (int n = 1; n <= 2; ++n) {
      OnePod f;
      (after ? f.fake.kill_after : f.fake.kill_before) = n;
      CHECK_THROWS_AS((void)f.mount(kFirst), Killed);
      CHECK(f.recorded().second == AccessMode::kReadWriteOncePod);
      f.fake.kill_before = f.fake.kill_after = 0;
      CHECK(f.mount(kSecond).ok());
      f.refuses(kFirst, "ReadWriteOncePod");
    }
  for (const char* failing : {"lvcreate", "mkfs.xfs"}) {
    OnePod f;
    f.fake.failing = failing;
    CHECK_FALSE(f.mount(kFirst).ok());
    CHECK(f.recorded().second == AccessMode::kReadWriteOncePod);
  }
}

TEST_CASE_FIXTURE(OnePod, "the promise records the mode for its claim, and a mount keeps it") {
  const std::string claim(spec.name.claim_uid());
  CHECK(recorded() == std::pair(claim, AccessMode::kReadWriteOncePod));
  REQUIRE(mount(kFirst).ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(recorded() == std::pair(claim, AccessMode::kReadWriteOncePod));
}

TEST_CASE_FIXTURE(OnePod, "a mode that a lost record had is recorded again") {
  const std::string claim = spec.name.claim_uid();
  REQUIRE(mount(kFirst).ok());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  fs::remove_all(fake.folder + "/records");
  CHECK(follow(spec, claim).error().code() == ErrorCode::kNotFound);
  CHECK_FALSE(records.load(spec.name)->has_value());
  REQUIRE(engine.settle(*engine.inventory()).ok());
  CHECK(recorded().first.empty());
  CHECK(mount(kFirst).error().code() == ErrorCode::kUnavailable);
  CHECK(engine.inventory()->records.at(spec.name.text()).claim_uid.empty());
  REQUIRE(follow(spec, claim).ok());
  CHECK(engine.inventory()->records.at(spec.name.text()).claim_uid == claim);
  refuses(kSecond, "ReadWriteOncePod");
}

TEST_CASE_FIXTURE(OnePod, "another claim's mode takes the place of the first one's") {
  REQUIRE(mount(kFirst).ok());
  const VolumeSpec open = with_mode(AccessMode::kReadWriteOnce);
  REQUIRE(follow(open, kOtherClaim).ok());
  CHECK(recorded() == std::pair(std::string(kOtherClaim), AccessMode::kReadWriteOnce));
  REQUIRE(mount(kSecond).ok());
  // Both keep it when it is for one pod again: nothing is taken from a pod that runs.
  REQUIRE(follow(spec, kOtherClaim).ok());
  CHECK(mount(kFirst).ok());
  CHECK(mount(kSecond).ok());
}

TEST_CASE_FIXTURE(OnePod, "the record of another cluster or namespace is not touched") {
  VolumeSpec other = with_mode(AccessMode::kReadWriteOnce);
  other.cluster_id = kOtherClaim;
  const std::string claim = spec.name.claim_uid();
  CHECK(follow(other, claim).error().code() == ErrorCode::kDenied);
  other = with_mode(AccessMode::kReadWriteOnce);
  other.claim_namespace = "elsewhere";
  CHECK(follow(other, claim).error().code() == ErrorCode::kDenied);
  CHECK(follow(spec, "not a uid").error().code() == ErrorCode::kInvalid);
  CHECK(recorded().second == AccessMode::kReadWriteOncePod);
}

}  // namespace
}  // namespace flexlocal::engine
