#include "provisioner/controller/reclaim/orphan_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::minutes;

const std::string kName = "pvc-" + kUid;

engine::LogicalVolume sample_lv(const std::string& uid = kUid) {
  engine::LogicalVolume volume;
  volume.group = "vg";
  volume.name = "pvc-" + uid;
  volume.uuid = "uuid-1";
  volume.size = kGiB;
  volume.ownership.emplace();
  volume.ownership->copy = kCopy;
  volume.ownership->cluster_id = kCluster;
  volume.ownership->claim_uid = uid;
  volume.ownership->claim_namespace = "shop";
  volume.ownership->pool = "default";
  volume.ownership->size = kGiB;
  return volume;
}

engine::NodeConfig sample_config() {
  engine::NodeConfig config;
  config.pools["default"].volume_group = "vg";
  config.pools["other"].volume_group = "vg2";
  return config;
}

std::size_t suspects_of(const engine::LogicalVolume& volume) {
  engine::Inventory inventory;
  inventory.volumes = {volume};
  return suspects_in(inventory, sample_config(), kCluster).size();
}

Suspect sample_suspect(const std::string& uid = kUid) {
  return {sample_spec(uid), "vg", "uuid-1", kGiB};
}

// Another volume's PersistentVolume is there, so that the list is not empty.
OrphanSweep look_at(minutes when) {
  return {{sample_suspect()}, {"pvc-" + kOtherUid}, {}, Clock::Instant(when)};
}

std::vector<OrphanAction> actions(const std::vector<OrphanStep>& steps) {
  std::vector<OrphanAction> out;
  for (const OrphanStep& step : steps) out.push_back(step.action);
  return out;
}

using Actions = std::vector<OrphanAction>;

}  // namespace

TEST_CASE("a policy is one of two words") {
  CHECK(*parse_orphan_policy("report") == OrphanPolicy::kReport);
  CHECK(*parse_orphan_policy("delete") == OrphanPolicy::kDelete);
  for (const char* word : {"", "Delete", "remove"}) {
    const auto parsed = parse_orphan_policy(word);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().message() ==
          concat("orphan policy \"", word, "\" is not known; accepted: report, delete"));
  }
}

TEST_CASE("only this cluster's volumes in their own pool of this node are considered at all") {
  CHECK(suspects_of(sample_lv()) == 1);
  const auto without = [](auto change) {
    engine::LogicalVolume volume = sample_lv();
    change(volume);
    return suspects_of(volume) == 0;
  };
  CHECK(without([](auto& volume) { volume.ownership.reset(); }));
  CHECK(without([](auto& volume) { volume.ownership->cluster_id = kOtherUid; }));
  CHECK(without([](auto& volume) { volume.ownership->retained = true; }));
  CHECK(without([](auto& volume) { volume.ownership->claim_uid = kOtherUid; }));
  CHECK(without([](auto& volume) { volume.ownership->claim_uid = "../.."; }));
  CHECK(without([](auto& volume) { volume.name = "pvc-" + kOtherUid; }));
  CHECK(without([](auto& volume) { volume.ownership->pool = "other"; }));
  CHECK(without([](auto& volume) { volume.ownership->pool = "none"; }));
  CHECK(without([](auto& volume) { volume.group = "vg2"; }));
  CHECK(without([](auto& volume) { volume.thin_pool = "pool0"; }));
}

TEST_CASE("a quota folder is considered as a logical volume is") {
  const auto suspects_with = [](auto change) {
    engine::Inventory inventory;
    inventory.folders = {{"pvc-" + kUid, "default", *sample_lv().ownership, kGiB}};
    inventory.folders[0].owner.attempt = "1048577";
    inventory.claims["pvc-" + kUid] = {kCluster, kUid};
    change(inventory);
    return suspects_in(inventory, sample_config(), kCluster);
  };
  const auto found = suspects_with([](auto&) {});
  REQUIRE(found.size() == 1);
  CHECK(found[0].is_folder());
  CHECK(found[0].spec.backend == engine::Backend::kQuota);
  CHECK(found[0].uuid == "1048577");
  CHECK(found[0].place() == "default/pvc-" + kUid);
  const auto without = [&](auto change) { return suspects_with(change).empty(); };
  CHECK(without([](auto& all) { all.folders[0].owner.cluster_id = kOtherUid; }));
  // Where its record says so, too, as of a folder that two clusters' node has whole.
  CHECK(without([](auto& all) {
    all.folders[0].owner.cluster_id = kOtherUid;
    all.claims["pvc-" + kUid].cluster_id = kOtherUid;
  }));
  CHECK(without([](auto& all) { all.folders[0].owner.claim_uid = kOtherUid; }));
  CHECK(without([](auto& all) { all.folders[0].pool = "other"; }));
  CHECK(without([](auto& all) { all.retained = {{"pvc-" + kUid, kCluster}}; }));
  CHECK(without([](auto& all) { all.claims.clear(); }));
  CHECK(without([](auto& all) { all.claims["pvc-" + kUid].found = true; }));
  // Its removal has begun.
  CHECK_FALSE(without([](auto& all) { all.claims["pvc-" + kUid].claim_uid.clear(); }));
  CHECK(without([](auto& all) { all.folders[0].owner.retained = true; }));
  CHECK(without([](auto& all) { all.claims["pvc-" + kUid].cluster_id = kOtherUid; }));
}

TEST_CASE("what is removed is what the tags say") {
  engine::LogicalVolume volume = sample_lv();
  volume.ownership->on_delete = engine::OnDelete::kZero;
  volume.ownership->fs_type = engine::FsType::kExt4;
  volume.thin_pool = "pool0";
  engine::NodeConfig config = sample_config();
  config.pools["default"].thin_pool = "pool0";
  engine::Inventory inventory;
  inventory.volumes = {volume};
  const auto suspects = suspects_in(inventory, config, kCluster);
  REQUIRE(suspects.size() == 1);
  const engine::VolumeSpec& spec = suspects.front().spec;
  CHECK(spec.name.text() == kName);
  CHECK(spec.copy == kCopy);
  CHECK(spec.backend == engine::Backend::kThin);
  CHECK(spec.on_delete == engine::OnDelete::kZero);
  CHECK(spec.fs_type == engine::FsType::kExt4);
  CHECK(spec.claim_namespace == "shop");
  CHECK(spec.cluster_id == kCluster);
}

TEST_CASE("an orphan is one after two lists and the grace, and is reported once") {
  OrphanRegister orphans(OrphanPolicy::kReport, minutes(60));
  CHECK(orphans.sweep(look_at(minutes(0))).empty());
  CHECK(orphans.sweep(look_at(minutes(59))).empty());
  CHECK(orphans.orphans() == 0);
  const auto steps = orphans.sweep(look_at(minutes(60)));
  REQUIRE(actions(steps) == Actions{OrphanAction::kReport});
  CHECK(orphans.orphans() == 1);
  // What could not be carried out comes again.
  CHECK(actions(orphans.sweep(look_at(minutes(61)))) == Actions{OrphanAction::kReport});
  orphans.done(steps.front());
  CHECK(orphans.sweep(look_at(minutes(62))).empty());
  CHECK(orphans.orphans() == 1);
}

TEST_CASE("one list is never enough, whatever the grace") {
  OrphanRegister orphans(OrphanPolicy::kDelete, minutes(0));
  CHECK(orphans.sweep(look_at(minutes(5))).empty());
  CHECK(actions(orphans.sweep(look_at(minutes(5)))) == Actions{OrphanAction::kRemove});
}

TEST_CASE("the same name on two groups is two volumes, each with lists of its own") {
  OrphanRegister orphans(OrphanPolicy::kDelete, minutes(0));
  OrphanSweep look = look_at(minutes(0));
  look.suspects.push_back(sample_suspect());
  look.suspects.back().group = "vg2";
  CHECK(orphans.sweep(look).empty());
  CHECK(orphans.sweep(look).size() == 2);
}

TEST_CASE("a PersistentVolume that shows up, or another volume of the name, begins the time anew") {
  OrphanRegister orphans(OrphanPolicy::kDelete, minutes(60));
  CHECK(orphans.sweep(look_at(minutes(0))).empty());
  OrphanSweep seen = look_at(minutes(30));
  seen.volumes.insert(kName);
  CHECK(orphans.sweep(seen).empty());
  CHECK(orphans.sweep(look_at(minutes(40))).empty());
  CHECK(orphans.sweep(look_at(minutes(99))).empty());
  OrphanSweep other = look_at(minutes(101));
  other.suspects.front().uuid = "uuid-2";
  CHECK(orphans.sweep(other).empty());
  CHECK(orphans.sweep({{}, {}, {}, Clock::Instant(minutes(200))}).empty());
  CHECK(orphans.sweep(look_at(minutes(201))).empty());
}

TEST_CASE("an empty list deletes nothing: it is reported") {
  OrphanRegister orphans(OrphanPolicy::kDelete, minutes(0));
  OrphanSweep nothing = look_at(minutes(0));
  nothing.volumes.clear();
  CHECK(orphans.sweep(nothing).empty());
  CHECK(actions(orphans.sweep(nothing)) == Actions{OrphanAction::kReportOnly});
}

TEST_CASE("a claim that lives keeps its volume for ever, and is told once") {
  OrphanRegister orphans(OrphanPolicy::kDelete, minutes(60));
  OrphanSweep look = look_at(minutes(0));
  look.claim_uids.insert(kUid);
  CHECK(orphans.sweep(look).empty());
  const auto steps = orphans.sweep(look);
  REQUIRE(actions(steps) == Actions{OrphanAction::kTellClaim});
  orphans.done(steps.front());
  look.now = Clock::Instant(minutes(1000));
  CHECK(orphans.sweep(look).empty());
  CHECK(orphans.orphans() == 0);
  // Once the claim is gone the grace begins.
  CHECK(orphans.sweep(look_at(minutes(1001))).empty());
  CHECK(orphans.sweep(look_at(minutes(1059))).empty());
  CHECK(actions(orphans.sweep(look_at(minutes(1060)))) == Actions{OrphanAction::kRemove});
}

namespace {

// The model: what each of a few volumes has gone through, written down beside the register.
struct Model {
  struct Fate {
    bool on_disk = false;
    bool listed = false;
    bool claimed = false;
    int lists = 0;  // in a row without the PersistentVolume
    minutes since{0};
  };
  std::map<std::string, Fate> fates;  // by uid
  minutes now{0};

  void wander(std::mt19937& random) {
    now += minutes(random() % 20);
    for (auto& [uid, fate] : fates) {
      if (random() % 8 == 0) fate.on_disk = !fate.on_disk;
      if (random() % 8 == 0) fate.listed = !fate.listed;
      if (random() % 8 == 0) fate.claimed = !fate.claimed;
    }
  }
  OrphanSweep look() const {
    OrphanSweep look;
    look.now = Clock::Instant(now);
    for (const auto& [uid, fate] : fates) {
      if (fate.on_disk) look.suspects.push_back(sample_suspect(uid));
      if (fate.listed) look.volumes.insert("pvc-" + uid);
      if (fate.claimed) look.claim_uids.insert(uid);
    }
    return look;
  }
  void note() {
    for (auto& [uid, fate] : fates) {
      const bool alone = fate.on_disk && !fate.listed;
      if (alone && fate.lists == 0) fate.since = now;
      fate.lists = alone ? fate.lists + 1 : 0;
      if (fate.claimed) fate.since = now;
    }
  }
};

}  // namespace

TEST_CASE("whatever comes and goes, only what was alone for two lists and the grace is removed") {
  constexpr minutes kGrace(60);
  int removals = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    Model model;
    for (int i = 0; i < 4; ++i) model.fates[concat("0b1c2d3e-0000-4000-8000-00000000000", i)] = {};
    OrphanRegister orphans(OrphanPolicy::kDelete, kGrace);
    for (int round = 0; round < 100; ++round) {
      model.wander(random);
      if (random() % 4 == 0) continue;  // a look that failed: the register is not asked
      const OrphanSweep look = model.look();
      model.note();
      std::set<std::string> removed;
      for (const OrphanStep& step : orphans.sweep(look))
        if (step.action == OrphanAction::kRemove)
          removed.insert(step.suspect.spec.name.claim_uid());
      for (const auto& [uid, fate] : model.fates) {
        const bool due = fate.on_disk && !fate.listed && !fate.claimed && fate.lists >= 2 &&
                         model.now - fate.since >= kGrace && !look.volumes.empty();
        CHECK(removed.contains(uid) == due);
        removals += due ? 1 : 0;
      }
    }
  }
  CHECK(removals > 100);
}

}  // namespace flexlocal::provisioner::test
