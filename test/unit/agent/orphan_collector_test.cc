#include "provisioner/agent/orphan_collector.h"

#include <algorithm>

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using Calls = std::vector<std::string>;

const std::string kList =
    "GET " + kVolumes + "?labelSelector=flexlocal.io%2Fnode%3Dnode-a&limit=500";
const std::string kGet = "GET " + kVolumePath;
const std::string kClaims = "GET /api/v1/namespaces/shop/persistentvolumeclaims?limit=500";
const std::string kRemove = "remove pvc-" + kUid;

std::string page(const std::string& items, const std::string& next = "") {
  return concat(R"({"metadata":{"resourceVersion":"1","continue":")", next, R"("},"items":[)",
                items, "]}");
}
std::string item(const std::string& uid) {
  return concat(R"({"metadata":{"name":"pvc-)", uid, R"(","uid":")", uid, R"("}})");
}

// One volume on the disks that no PersistentVolume stands for; another has one.
struct Fixture : NodeLab {
  OrphanCollector collector{parts, config, {OrphanPolicy::kDelete, std::chrono::minutes(10)}};

  Fixture() {
    engine::LogicalVolume volume;
    volume.group = "vg";
    volume.name = "pvc-" + kUid;
    volume.size = kGiB;
    volume.ownership.emplace();
    volume.ownership->copy = kCopy;
    volume.ownership->cluster_id = kCluster;
    volume.ownership->claim_uid = kUid;
    volume.ownership->claim_namespace = "shop";
    volume.ownership->pool = "default";
    volume.ownership->size = kGiB;
    storage.present.volumes = {volume};
    storage.present.holdings = {{volume.name, "group:vg", kGiB}};
    answers[kList] = {{200, page(item(kOtherUid))}};
    answers[kGet] = {{404, refused("NotFound")}};
    answers[kClaims] = {{200, page("")}};
  }
  Status sweep() { return wait_for(collector.sweep()); }
  bool remove_some() { return wait_for(collector.remove_some()); }
  // Two looks with the grace between them, and what follows.
  void run() {
    CHECK(sweep().ok());
    manual.advance(std::chrono::minutes(10));
    CHECK(sweep().ok());
    remove_some();
  }
  bool did(const std::string& call) const {
    return std::find(journal.begin(), journal.end(), call) != journal.end();
  }
  long count(const std::string& call) const {
    return std::count(journal.begin(), journal.end(), call);
  }
};

// The same of a quota folder.
struct OfFolder : Fixture {
  OfFolder() {
    engine::Ownership owner = *storage.present.volumes.front().ownership;
    owner.attempt = "1048577";
    storage.present.volumes.clear();
    storage.present.holdings.clear();
    storage.present.folders = {{"pvc-" + kUid, "default", owner, kGiB}};
    storage.present.claims["pvc-" + kUid] = {kCluster, kUid};
  }
};

struct Reporting : Fixture {
  OrphanCollector reporter{parts, config, {OrphanPolicy::kReport, std::chrono::minutes(10)}};
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an orphan is removed on the server's word of this very moment") {
  run();
  CHECK(journal == Calls{kList, kList, kGet, kClaims, kGet, kRemove});
  const std::string told = events_written();
  CHECK(told.find(R"("reason":"OrphanedVolumeDeleted")") != std::string::npos);
  CHECK(told.find(R"("involvedObject":{"kind":"Node","name":"node-a")") != std::string::npos);
}

TEST_CASE_FIXTURE(OfFolder, "an orphaned quota folder is removed on the same word") {
  run();
  CHECK(journal == Calls{kList, kList, kGet, kClaims, kGet, kRemove});
  CHECK(events_written().find(R"("reason":"OrphanedVolumeDeleted")") != std::string::npos);
}

TEST_CASE_FIXTURE(OfFolder, "a quota folder stays whose PersistentVolume or claim is known") {
  answers[kGet] = {{200, volume_text(sample_spec(), "Bound")}};
  run();
  CHECK_FALSE(did(kClaims));  // its PersistentVolume is answer enough
  answers[kGet] = {{404, refused("NotFound")}};
  answers[kClaims] = {{200, page(item(kUid))}};
  run();
  answers[kClaims] = {{200, page("")}};
  answers[kList] = {{200, page(item(kUid))}};
  run();
  answers[kList] = {{200, page(item(kOtherUid))}};
  know_claim(sample_claim());
  run();
  CHECK_FALSE(did(kRemove));
  CHECK(events_written().find("its data, quota folder default/pvc-") != std::string::npos);
}

TEST_CASE_FIXTURE(OfFolder,
                  "a quota folder that was retained since the disks were looked at stays") {
  CHECK(sweep().ok());
  manual.advance(std::chrono::minutes(10));
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  storage.present.folders.front().owner.retained = true;
  CHECK(sweep().ok());
  CHECK_FALSE(remove_some());
  CHECK_FALSE(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "a volume whose PersistentVolume is known causes no question at all") {
  know_volume(volume_text(sample_spec(), "Bound"));
  run();
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a PersistentVolume that is not in this node's list is one all the same") {
  answers[kGet] = {{200, volume_text(sample_spec(), "Bound")}};
  run();
  CHECK_FALSE(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "a list that is too large to be kept is asked for in smaller pages") {
  broken[kList] = ErrorCode::kNoSpace;
  answers[with(kList, "limit=500", "limit=250")] = {{200, page(item(kOtherUid))}};
  run();
  CHECK(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture,
                  "a list that fails, is cut, is no list, or ends in mid-way deletes nothing") {
  const std::string next = kList + "&continue=more";
  const std::vector<Answer> failures = {{500, refused("InternalError")},
                                        {410, refused("Expired")},
                                        {200, "{}"},
                                        {200, R"({"metadata":{"resourceVersion":"1"}})"},
                                        {200, R"({"items":[]})"},
                                        {200, page("{}")},
                                        {200, page(item(kOtherUid), "more")}};
  answers[next] = {{410, refused("Expired")}};
  for (const Answer& failure : failures) {
    answers[kList] = {failure};
    CHECK_FALSE(sweep().ok());
    manual.advance(std::chrono::hours(10));
    CHECK_FALSE(sweep().ok());
    CHECK_FALSE(remove_some());
  }
  CHECK_FALSE(did(kRemove));
  // None of them counted: the time begins with the first look that succeeds.
  answers[kList] = {{200, page(item(kOtherUid))}};
  CHECK(sweep().ok());
  CHECK_FALSE(remove_some());
  CHECK_FALSE(did(kRemove));
}

// Its PersistentVolume goes right after the mark, and a look may have begun before it.
TEST_CASE_FIXTURE(Fixture, "a volume that was retained since the disks were looked at stays") {
  CHECK(sweep().ok());
  manual.advance(std::chrono::minutes(10));
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  storage.present.volumes.front().ownership->retained = true;
  CHECK(sweep().ok());
  CHECK_FALSE(remove_some());
  CHECK_FALSE(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "a list is read to its last page") {
  answers[kList] = {{200, page(item(kOtherUid), "more")}};
  answers[kList + "&continue=more"] = {{200, page(item(kUid))}};
  run();
  CHECK_FALSE(did(kGet));
  CHECK_FALSE(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "an empty list deletes nothing and is reported") {
  answers[kList] = {{200, page("")}};
  run();
  CHECK_FALSE(did(kRemove));
  CHECK(events_written().find("lists no PersistentVolume of this node at all") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "no answer about the one PersistentVolume, or about claims, deletes nothing") {
  broken[kGet] = ErrorCode::kUnavailable;
  CHECK(sweep().ok());
  manual.advance(std::chrono::minutes(10));
  CHECK_FALSE(sweep().ok());
  broken = {{kClaims, ErrorCode::kUnavailable}};
  CHECK_FALSE(sweep().ok());
  CHECK_FALSE(remove_some());
  CHECK_FALSE(did(kRemove));
  broken.clear();
  CHECK(sweep().ok());
  remove_some();
  CHECK(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "a claim that only the server knows keeps its volume") {
  answers[kClaims] = {{200, page(item(kUid))}};
  run();
  CHECK_FALSE(did(kRemove));
}

TEST_CASE_FIXTURE(Fixture, "a claim that lives keeps its data, and is told once") {
  know_claim(sample_claim());
  run();
  run();
  CHECK_FALSE(did(kRemove));
  const std::string told = events_written();
  const std::string reason = R"("reason":"OrphanedVolume")";
  REQUIRE(told.find(reason) != std::string::npos);
  CHECK(told.find(reason, told.find(reason) + 1) == std::string::npos);
  CHECK(told.find(R"("kind":"PersistentVolumeClaim","name":"data")") != std::string::npos);
  CHECK(told.find("was deleted while this claim exists; its data, logical volume vg/pvc-") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a long wipe goes slice by slice, and ends when the volume is wanted") {
  storage.slices = {{false, kMiB, kGiB}, {false, kMiB, kGiB}};
  run();
  CHECK(count(kRemove) == 1);
  CHECK(remove_some());
  CHECK(count(kRemove) == 2);
  know_claim(sample_claim());
  CHECK_FALSE(remove_some());
  CHECK(count(kRemove) == 2);
}

TEST_CASE_FIXTURE(Fixture, "a long wipe ends when the server has its PersistentVolume again") {
  storage.slices = {{false, kMiB, kGiB}, {false, kMiB, kGiB}};
  run();
  CHECK(count(kRemove) == 1);
  answers[kGet] = {{200, volume_text(sample_spec(), "Bound")}};
  CHECK_FALSE(remove_some());
  CHECK(count(kRemove) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a volume that is open is told once and tried at every look") {
  storage.remove_status = Error(ErrorCode::kBusy, "the volume is in use");
  run();
  CHECK(sweep().ok());
  CHECK_FALSE(remove_some());
  CHECK(count(kRemove) == 2);
  storage.remove_status = Status();
  CHECK(sweep().ok());
  CHECK_FALSE(remove_some());
  const std::string told = events_written();
  const std::string trouble = "is not removed: the volume is in use";
  REQUIRE(told.find(trouble) != std::string::npos);
  CHECK(told.find(trouble, told.find(trouble) + 1) == std::string::npos);
  CHECK(told.find("OrphanedVolumeDeleted") != std::string::npos);
}

TEST_CASE_FIXTURE(Reporting, "by default an orphan is one line and one event, and stays") {
  for (int i = 0; i < 4; ++i) {
    CHECK(wait_for(reporter.sweep()).ok());
    CHECK_FALSE(wait_for(reporter.remove_some()));
    manual.advance(std::chrono::minutes(10));
  }
  CHECK(reporter.orphans() == 1);
  CHECK_FALSE(did(kRemove));
  CHECK_FALSE(did(kClaims));
  CHECK(std::count_if(log.lines.begin(), log.lines.end(), [](const std::string& line) {
          return line.find("orphaned volume") != std::string::npos;
        }) == 1);
  const std::string told = events_written();
  CHECK(told.find("logical volume vg/pvc-" + kUid +
                  " (1 GiB, namespace shop) on node node-a has no PersistentVolume") !=
        std::string::npos);
  CHECK(told.find(R"("count":2)") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "disks that cannot be looked at are no reason to do anything") {
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  CHECK_FALSE(sweep().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a node made anew tells the claims of volumes that it has not got, once") {
  parts.node.uid = "new-node";
  const auto made_on = [](const std::string& node_uid, const std::string& uid) {
    const std::string key = R"("flexlocal.io/node-uid":")";
    return with(volume_text(sample_spec(uid), "Bound"), key + kUidOfNode, key + node_uid);
  };
  know_volume(made_on("old-node", kUid));       // here: its disk has survived
  know_volume(made_on("old-node", kOtherUid));  // not here
  know_volume(made_on("new-node", "0b1c2d3e-0000-4000-8000-000000000001"));
  CHECK(sweep().ok());
  CHECK(sweep().ok());
  const std::string told = events_written();
  const std::string text =
      "node node-a was created anew and does not have the data of volume pvc-" + kOtherUid;
  REQUIRE(told.find(text) != std::string::npos);
  CHECK(told.find("VolumeMissing", told.find("VolumeMissing") + 1) == std::string::npos);
  CHECK(told.find(R"("kind":"PersistentVolumeClaim","name":"data","uid":")" + kOtherUid) !=
        std::string::npos);
}

}  // namespace flexlocal::provisioner::test
