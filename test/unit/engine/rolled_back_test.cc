// Every pair of a record and tags that may come together when one of them is brought back, or lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

struct Row {
  std::string_view record;
  std::string_view tags;
  std::string_view answers;
};

constexpr Row kRows[] = {
#define ROW(record, tags, answers) {record, tags, answers},
#include "test/rolled_back.inc"
#undef ROW
};

constexpr std::string_view kOtherUuid = "99999999-9999-4999-8999-999999999999";

// A volume with data that is mounted nowhere, whose record, tags and disk are then changed.
struct Volume {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  std::string key = "data/" + spec.name.text();
  RecordStore records{fake.folder + "/records"};

  Volume() {
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    REQUIRE(mount().ok());
    fake.mounts.clear();
  }

  Status mount() {
    return engine.mount({call_for(spec), fake.volume_folder(spec.name), "shop", "4f0e"});
  }

  void set_record(std::string_view kind) {
    Record record = **records.load(spec.name);
    if (kind == "none") {
      REQUIRE(records.remove(spec.name).ok());
      return;
    }
    if (kind == "damaged") {
      std::ofstream(concat(fake.folder, "/records/", spec.name.text())) << "{\"version\":2,";
      return;
    }
    const std::string_view state = kind.substr(0, kind.find('-'));
    if (kind.ends_with("-other")) {
      record.attempt = std::string(32, '0');
      record.device_uuid = "LVM-another";
    }
    for (const RecordState one :
         {RecordState::kIntent, RecordState::kNew, RecordState::kReady, RecordState::kWiping})
      if (to_string(one) == state) record.state = one;
    if (state == "intent") record.device_uuid.clear();
    if (state == "promised") {
      const FollowedOrder order = record.order;
      record = promised_record(spec, spec.name.claim_uid());
      record.order = order;
    }
    REQUIRE(to_string(record.state) == state);
    REQUIRE(records.save(record).ok());
  }

  void set_tags(std::string_view kind) {
    if (kind == "absent") {
      fake.volumes.erase(key);
      return;
    }
    std::vector<std::string>& tags = fake.volumes[key].tags;
    if (kind == "stranger") return tags.clear();
    for (std::string& tag : tags) {
      if (tag.starts_with("flexlocal.io/state=") && kind != "other")
        tag = concat("flexlocal.io/state=", kind);
      if (tag.starts_with("flexlocal.io/claim-uid=") && kind == "other")
        tag = concat("flexlocal.io/claim-uid=", kOtherUuid);
    }
  }

  void set_disk(std::size_t kind) {
    if (!fake.volumes.contains(key)) return;
    std::string& start = fake.volumes[key].start;
    if (kind == 0) start.assign(kSuperblockBytes, '\0');
    if (kind == 1) start = xfs_start(spec.name.claim_uid(), true);
    if (kind == 3) start = xfs_start(std::string(kOtherUuid), false);
    if (kind == 4) start.assign(kSuperblockBytes, 'x');
  }

  // As the daemon does at its start, and from time to time.
  void settle() {
    const auto inventory = engine.inventory();
    REQUIRE(inventory.ok());
    (void)engine.settle(*inventory);
    (void)engine.copies().follow(order_of(spec));
  }

  // What a mount does, in the table's letters.
  char answer() {
    const auto before = fake.volumes;
    const auto formats = std::count(fake.started.begin(), fake.started.end(), "mkfs.xfs");
    if (!mount()) {
      const bool there = before.contains(key);
      REQUIRE(fake.volumes.contains(key) == there);
      if (there) {
        CHECK(fake.volumes[key].start == before.at(key).start);
        CHECK(fake.volumes[key].tags == before.at(key).tags);
        CHECK(fake.volumes[key].uuid == before.at(key).uuid);
      }
      return 'R';
    }
    if (!before.contains(key) || fake.volumes[key].uuid != before.at(key).uuid) return 'N';
    const auto now = std::count(fake.started.begin(), fake.started.end(), "mkfs.xfs");
    return now == formats ? 'M' : 'F';
  }
};

TEST_CASE("a record and tags of different times: every pair, with every disk") {
  for (const Row& row : kRows) {
    REQUIRE(row.answers.size() == 5);
    for (std::size_t disk = 0; disk < row.answers.size(); ++disk) {
      CAPTURE(row.record);
      CAPTURE(row.tags);
      CAPTURE(disk + 1);
      for (const bool settled : {false, true}) {
        // Without a record nothing is mounted before the daemon has made it anew.
        const bool lost = row.record == "none" && !settled;
        CAPTURE(settled);
        Volume volume;
        volume.set_record(row.record);
        volume.set_tags(row.tags);
        volume.set_disk(disk);
        if (settled) volume.settle();
        CHECK(volume.answer() == (lost ? 'R' : row.answers[disk]));
      }
    }
  }
}

// The table itself, so that nobody makes it fit a program that loses data.
TEST_CASE("of the table of records and tags: no answer loses data") {
  CHECK(std::size(kRows) == 60);
  for (const Row& row : kRows) {
    CAPTURE(row.record);
    CAPTURE(row.tags);
    const bool absent = row.tags == "absent";
    CHECK((absent || row.answers[2] == 'M' || row.answers[2] == 'R'));
    const bool had_data = row.tags == "ready" || row.tags == "wiping" ||
                          row.record.starts_with("ready") || row.record == "wiping";
    const bool makes = row.answers.find_first_of("FN") != std::string_view::npos;
    CHECK_FALSE((makes && (had_data || row.record == "none" || row.record == "damaged")));
    // What is no volume's of this claim, by its tags, is neither formatted nor replaced.
    CHECK_FALSE((makes && (row.tags == "stranger" || row.tags == "other")));
  }
}

}  // namespace
}  // namespace flexlocal::engine
