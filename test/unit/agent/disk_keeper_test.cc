#include "provisioner/agent/disk_keeper.h"

#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using std::literals::operator""ms;
using std::literals::operator""s;

// As long as the daemon's, but for the pauses that are really waited for.
DiskIntervals short_pauses() {
  DiskIntervals intervals;
  intervals.changed = 0ms;
  intervals.gather = 0ms;
  return intervals;
}

struct Fixture : kube::test::Lab {
  std::vector<std::string> journal;
  FakeStorage storage{journal};
  engine::NodeConfig config;
  Ledger ledger{storage, config, clock};
  DiskIntervals intervals = short_pauses();
  bool waits = false;
  int tidied = 0;
  std::optional<DiskKeeper> keeper;

  Fixture() { config.pools["default"].volume_group = "vg"; }
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  void start() {
    keeper.emplace(
        storage, ledger, log, intervals, [this] { ++tidied; }, [this] { return waits; });
    tasks.spawn(keeper->tidy());
  }
  void thin_use(unsigned data, unsigned metadata) {
    storage.present.spaces.front().thin_use.emplace(data, metadata);
  }
  // How long the keeper would have waited from its first look to the next.
  std::chrono::nanoseconds until_next_look() {
    storage.changes.hurries = true;
    start();
    REQUIRE(run_until([this] { return tidied == 1; }));
    std::chrono::nanoseconds waited{};
    REQUIRE(run_until([&] {
      if (tidied == 1) waited = storage.changes.waited;
      return tidied > 1;
    }));
    return waited;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "disks are looked at every five minutes where nothing changes") {
  const auto waited = until_next_look();
  CHECK(waited >= 270s);
  CHECK(waited <= 330s);
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "every minute while something waits that nothing tells of") {
  SUBCASE("by the agent's word") { waits = true; }
  SUBCASE("a file system that grows when it is mounted") { storage.present.behind.insert("pvc-1"); }
  SUBCASE("a volume group whose metadata are older") {
    storage.present.outdated.emplace("vg", "older");
  }
  SUBCASE("a volume without its record") {
    const engine::VolumeSpec spec = sample_spec();
    engine::LogicalVolume volume;
    volume.name = spec.name.text();
    volume.ownership.emplace();
    volume.ownership->ready = true;
    storage.present.volumes.push_back(volume);
  }
  SUBCASE("a thin pool's data that are half full") { thin_use(50, 1); }
  SUBCASE("a thin pool's metadata that are half full") { thin_use(1, 50); }
  CHECK(until_next_look() == 60s);
}

TEST_CASE_FIXTURE(Fixture, "a thin pool that is not half full is nothing to wait for") {
  thin_use(49, 49);
  CHECK(until_next_look() >= 270s);
}

TEST_CASE_FIXTURE(Fixture,
                  "every minute where the kernel tells of no changes, which is said once") {
  storage.changes.armed = Error(ErrorCode::kNotFound, "no device-mapper");
  CHECK(until_next_look() == 60s);
  CHECK(run_until([&] { return tidied > 4; }));
  CHECK(log.lines.size() == 1);
  CHECK(log.has("level=info"));
  CHECK(log.has("no device-mapper"));
  // From the look that finds it on.
  storage.changes.armed = Status();
  const int before = tidied;
  REQUIRE(run_until([&] { return tidied == before + 1; }));
  storage.changes.waited = {};
  std::chrono::nanoseconds waited{};
  REQUIRE(run_until([&] {
    if (tidied == before + 1) waited = storage.changes.waited;
    return tidied > before + 1;
  }));
  CHECK(waited >= 270s);
}

TEST_CASE_FIXTURE(Fixture, "a change is looked at soon, one that comes during a look as well") {
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return storage.looks == 1; }));
  storage.changes.change();
  storage.go.notify_all();
  CHECK(run_until([&] { return tidied == 2; }));
  REQUIRE(run_until([&] { return storage.changes.turns == 2; }));
  settle();
  CHECK(tidied == 2);
  storage.changes.change();
  CHECK(run_until([&] { return tidied == 3; }));
}

TEST_CASE_FIXTURE(Fixture, "many changes bring few looks, fewer the longer they go on") {
  intervals.changed = 40ms;
  intervals.gather = 10ms;
  start();
  const auto end = clock.now() + 1s;
  REQUIRE(run_until([&] {
    storage.changes.change();
    return clock.now() > end;
  }));
  // After 0, 50, 140, 310 and 640 ms.
  CHECK(tidied >= 3);
  CHECK(tidied <= 5);
}

TEST_CASE_FIXTURE(Fixture, "changes that come together are looked at together") {
  intervals.gather = 50ms;
  start();
  REQUIRE(run_until([&] { return storage.changes.turns == 1; }));
  const auto begun = clock.now();
  storage.changes.change();
  REQUIRE(run_until([&] { return tidied == 2; }));
  CHECK(clock.now() - begun >= 50ms);
}

TEST_CASE_FIXTURE(Fixture, "once changes have ended, the next one is looked at soon again") {
  intervals.changed = 20ms;
  intervals.unsettled = 400ms;  // of which a turn is
  start();
  for (int looks = 1; looks <= 6; ++looks) {
    REQUIRE(run_until([&] { return tidied == looks; }));
    storage.changes.change();
  }
  // 20 ms have become the longest pause; then a turn passes without a change.
  REQUIRE(run_until([&] { return tidied == 7; }));
  const int turns = storage.changes.turns;
  REQUIRE(run_until([&] { return storage.changes.turns >= turns + 2; }));
  storage.changes.change();
  REQUIRE(run_until([&] { return tidied == 8; }));
  const auto begun = clock.now();
  storage.changes.change();
  REQUIRE(run_until([&] { return tidied == 9; }));
  CHECK(clock.now() - begun < 200ms);
}

TEST_CASE_FIXTURE(Fixture, "after a try that failed the pause is another one, a minute at most") {
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  intervals.failed_tidy = 20ms;
  intervals.unsettled = 80ms;
  start();
  std::vector<Clock::Instant> looks;
  REQUIRE(run_until([&] {
    if (looks.size() < static_cast<std::size_t>(tidied)) looks.push_back(clock.now());
    return tidied == 6;
  }));
  CHECK(looks[1] - looks[0] >= 19ms);
  CHECK(looks[5] - looks[4] >= 70ms);
  CHECK(storage.changes.turns == 0);
  storage.inventory_status = Status();
  CHECK(run_until([&] { return storage.changes.turns > 0; }));
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it ends while it waits for a change") {
  start();
  REQUIRE(run_until([&] { return storage.changes.turns == 1; }));
  tasks.cancel();
  CHECK(run_until([&] { return tasks.running() == 0; }));
}

}  // namespace flexlocal::provisioner::test
