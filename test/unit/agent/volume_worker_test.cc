#include "provisioner/agent/volume_worker.h"

#include <algorithm>

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using Calls = std::vector<std::string>;

const std::string kGet = "GET " + kVolumePath;
const std::string kRemove = "remove pvc-" + kUid;
const std::string kDelete = "DELETE " + kVolumePath;
const std::string kPatch = "PATCH " + kVolumePath;
const std::string kRetain = "retain pvc-" + kUid;
const std::string kTakeUp = "take up pvc-" + kUid;
const std::string kOurs = R"("finalizers":["flexlocal.io/reclaim"])";

struct Fixture : NodeLab {
  VolumeWorker worker{parts};
  const std::string name = "pvc-" + kUid;

  Result<Pass> work() { return wait_for(worker.work(name)); }
  bool done() {
    const auto worked = work();
    return worked.ok() && *worked == Pass::kDone;
  }
  // One slice of a wipe that has come to `wiped` GiB of 100.
  void slice(std::uint64_t wiped) {
    storage.slices = {{false, Bytes(wiped * kGiB.count()), Bytes(100 * kGiB.count())}};
    const auto worked = work();
    REQUIRE(worked.ok());
    CHECK(*worked == Pass::kAgain);
  }
  ErrorCode failure() {
    const auto worked = work();
    REQUIRE_FALSE(worked.ok());
    return worked.error().code();
  }
  // Known to the informer, and what the API server still says when it is asked.
  void have_volume(const std::string& volume) {
    know_volume(volume);
    answers[kGet] = {{200, volume}};
  }
  static std::string text(const std::string& phase) { return volume_text(sample_spec(), phase); }
  static std::string deleting(const std::string& volume) {
    return with(volume, R"("uid":"uid-of-pv")",
                R"("uid":"uid-of-pv","deletionTimestamp":"2021-03-01T11:00:00Z")");
  }
  static std::string retained() {
    return deleting(with(text("Released"), R"("Delete")", R"("Retain")"));
  }
  std::string metrics() {
    kube::Metrics metrics;
    parts.work.show_in(metrics);
    return metrics.text();
  }
  static std::string version_of(const std::string& volume) {
    return decoded_volume(volume).resource_version;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a released volume is removed, then deleted by uid, then let go") {
  have_volume(text("Released"));
  const std::string after = deleting(text("Released"));
  answers[kDelete] = {{200, after}};
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kDelete, kPatch});
  const auto options = JsonDocument::parse(body_of(kube::Method::kDelete, kVolumePath));
  REQUIRE(options.ok());
  CHECK(options->root()["preconditions"].dump() == R"({"uid":"uid-of-pv"})");
  // The version of the deletion's answer: that of the cache would always be a conflict.
  CHECK(body_of(kube::Method::kPatch, kVolumePath) ==
        R"({"metadata":{"resourceVersion":")" + version_of(after) + R"(","finalizers":[]}})");
}

TEST_CASE_FIXTURE(Fixture, "the finalizers of others stay, in their order") {
  const std::string others =
      with(text("Released"), kOurs,
           R"("finalizers":["a.io/x","flexlocal.io/reclaim","kubernetes.io/pv-protection"])");
  const std::string volume = deleting(others);
  have_volume(volume);
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kPatch});
  CHECK(body_of(kube::Method::kPatch, kVolumePath) ==
        R"({"metadata":{"resourceVersion":")" + version_of(volume) +
            R"(","finalizers":["a.io/x","kubernetes.io/pv-protection"]}})");
}

TEST_CASE_FIXTURE(Fixture, "a removal that fails never leads to a deletion, whatever it fails of") {
  for (const ErrorCode code :
       {ErrorCode::kBusy, ErrorCode::kDenied, ErrorCode::kUnavailable, ErrorCode::kFailed,
        ErrorCode::kNotFound, ErrorCode::kExists, ErrorCode::kConflict, ErrorCode::kCancelled}) {
    have_volume(text("Released"));
    storage.remove_status = Error(code, "in use");
    CHECK(failure() == code);
    CHECK(journal == Calls{kGet, kRemove});
    journal.clear();
  }
  CHECK(events_written().find("VolumeFailedDelete") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "nothing is destroyed on the informer's word alone") {
  have_volume(text("Released"));
  const std::string retained = with(text("Released"), R"("Delete")", R"("Retain")");
  const std::string another = with(text("Released"), R"("uid":"uid-of-pv")", R"("uid":"another")");
  for (const Answer& now : {Answer{200, retained}, Answer{200, another}, Answer{200, text("Bound")},
                            Answer{404, refused("NotFound")}}) {
    answers[kGet] = {now};
    CHECK(done());
  }
  answers[kGet] = {{503, refused("ServiceUnavailable")}};
  CHECK(failure() == ErrorCode::kUnavailable);
  broken[kGet] = ErrorCode::kUnavailable;
  CHECK(failure() == ErrorCode::kUnavailable);
  CHECK(std::all_of(journal.begin(), journal.end(),
                    [](const std::string& call) { return call == kGet; }));
}

TEST_CASE_FIXTURE(Fixture, "a volume of another cluster, or of another claim, is not removed") {
  have_volume(with(text("Released"), kCluster, kOtherUid));
  CHECK(failure() == ErrorCode::kDenied);
  have_volume(with(text("Released"), R"("uid":")" + kUid, R"("uid":")" + kOtherUid));
  CHECK(failure() == ErrorCode::kInvalid);
  CHECK(journal ==
        Calls{kGet, kGet, concat("record ReadWriteOnce of ", name, " for ")});  // nobody mounts it
}

TEST_CASE_FIXTURE(Fixture, "a deletion that is refused leaves the finalizer, and is tried again") {
  have_volume(text("Released"));
  answers[kDelete] = {{409, refused("Conflict")}, {200, deleting(text("Released"))}};
  CHECK(failure() == ErrorCode::kConflict);
  CHECK(journal == Calls{kGet, kRemove, kDelete});
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kDelete, kGet, kRemove, kDelete, kPatch});
}

TEST_CASE_FIXTURE(Fixture, "an object that is gone when it is deleted or let go is success") {
  have_volume(text("Released"));
  answers[kDelete] = {{404, refused("NotFound")}};
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kDelete});
  answers[kDelete] = {{200, deleting(text("Released"))}};
  answers[kPatch] = {{404, refused("NotFound")}};
  CHECK(done());
}

TEST_CASE_FIXTURE(Fixture, "finalizers that somebody changed meanwhile are read again, once") {
  have_volume(deleting(text("Released")));
  answers[kPatch] = {{409, refused("Conflict")}, {200, "{}"}};
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kPatch, kGet, kPatch});
  CHECK(metrics().find("\ncontroller_persistentvolume_delete_total{class=\"local\"} 1\n") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "finalizers that somebody changes again and again are no success") {
  have_volume(deleting(text("Released")));
  answers[kPatch] = {{409, refused("Conflict")}};
  CHECK(failure() == ErrorCode::kConflict);
  CHECK_FALSE(log.has("volume reclaimed"));
  CHECK(metrics().find("\ncontroller_persistentvolume_delete_failed_total{") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "an object that another took the place of keeps its finalizers") {
  have_volume(deleting(text("Released")));
  const std::string another =
      with(deleting(text("Released")), R"("uid":"uid-of-pv")", R"("uid":"another")");
  answers[kGet] = {{200, deleting(text("Released"))}, {200, another}};
  answers[kPatch] = {{409, refused("Conflict")}};
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kPatch, kGet});
}

TEST_CASE_FIXTURE(Fixture, "what the policy keeps is marked first, and then let go of") {
  have_volume(retained());
  CHECK(done());
  CHECK(journal == Calls{kRetain, kPatch});
  CHECK(events_written().find(R"("reason":"VolumeRetained")") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "what cannot be marked as retained is not let go of, and says why") {
  have_volume(retained());
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDenied, ErrorCode::kInvalid}) {
    storage.retain_status = Error(code, "group is not to be seen");
    CHECK(failure() == code);
  }
  CHECK(journal == Calls{kRetain, kRetain, kRetain});
  CHECK(events_written().find("marked as retained, so that it stays: group is not to be seen") !=
        std::string::npos);
  storage.retain_status = Status();
  CHECK(done());
  CHECK(journal.back() == kPatch);
}

TEST_CASE_FIXTURE(Fixture, "data that another claim took over is retained as well") {
  have_volume(with(retained(), R"("uid":")" + kUid, R"("uid":")" + kOtherUid));
  CHECK(done());
  CHECK(journal == Calls{kRetain, kPatch});
}

TEST_CASE_FIXTURE(Fixture, "a volume that no claim ever had, of policy Delete, is only let go of") {
  have_volume(deleting(text("Available")));
  CHECK(done());
  CHECK(journal == Calls{kPatch});
}

TEST_CASE_FIXTURE(Fixture, "a retained volume that has a PersistentVolume again is taken up") {
  storage.present.retained = {{name, kCluster}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  have_volume(text("Available"));
  CHECK(done());
  CHECK(journal == Calls{kGet, kTakeUp});
  have_volume(deleting(text("Bound")));
  CHECK(done());
  CHECK(journal == Calls{kGet, kTakeUp});
  storage.present.retained = {{name, kOtherUid}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  have_volume(text("Bound"));
  CHECK(done());
  CHECK(journal == Calls{kGet, kTakeUp});
}

TEST_CASE_FIXTURE(Fixture, "what only an old list still has is not taken up, and stays retained") {
  storage.present.retained = {{name, kCluster}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  know_volume(text("Bound"));
  const std::string another = with(text("Bound"), R"("uid":"uid-of-pv")", R"("uid":"another")");
  for (const Answer& now :
       std::vector<Answer>{{404, "{}"}, {200, deleting(text("Bound"))}, {200, another}}) {
    answers[kGet] = {now};
    CHECK(done());
  }
  CHECK(journal == Calls{kGet, kGet, kGet});
  answers[kGet] = {{503, "{}"}};
  CHECK(failure() == ErrorCode::kUnavailable);
  CHECK(journal.size() == 4);
}

TEST_CASE_FIXTURE(Fixture,
                  "a retained volume that another claim has gets that claim's access mode") {
  storage.present.retained = {{name, kCluster}};
  storage.present.claims = {{name, {kCluster, kUid}}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  have_volume(with(with(text("Bound"), R"("uid":")" + kUid, R"("uid":")" + kOtherUid),
                   R"(["ReadWriteOnce"])", R"(["ReadWriteOncePod"])"));
  CHECK(done());
  CHECK(journal ==
        Calls{kGet, kTakeUp, concat("record ReadWriteOncePod of ", name, " for ", kOtherUid)});
}

TEST_CASE_FIXTURE(Fixture,
                  "a deleted volume of a living claim keeps its data, and a person is told") {
  have_volume(deleting(text("Bound")));
  CHECK(done());
  CHECK(journal.empty());
  CHECK(events_written().find("its data stays until the claim is deleted") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a bound volume, or one that is not known, causes no call at all") {
  have_volume(text("Bound"));
  CHECK(done());
  CHECK(wait_for(worker.work("pvc-unknown")).ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "after a removal the disks are looked at anew") {
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  have_volume(text("Released"));
  CHECK(done());
  CHECK_FALSE(ledger.inventory().has_value());
}

TEST_CASE_FIXTURE(Fixture,
                  "a wipe goes on in slices, asked for before each, and then it is let go") {
  have_volume(text("Released"));
  answers[kDelete] = {{200, deleting(text("Released"))}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  slice(1);
  slice(2);
  CHECK(journal == Calls{kGet, kRemove, kGet, kRemove});
  CHECK(ledger.inventory().has_value());  // nothing is free yet
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kGet, kRemove, kGet, kRemove, kDelete, kPatch});
}

TEST_CASE_FIXTURE(Fixture, "a wipe says how far it is, once in a while") {
  have_volume(text("Released"));
  slice(1);
  slice(12);  // too soon
  manual.advance(std::chrono::minutes(1));
  slice(13);
  const std::string told = events_written();
  CHECK(told.find("wiping: 1 GiB of 100 GiB") != std::string::npos);
  CHECK(told.find("wiping: 12 GiB") == std::string::npos);
  CHECK(told.find("wiping: 13 GiB of 100 GiB") != std::string::npos);
  CHECK(told.find(R"("reason":"VolumeWiping")") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "a person who keeps the volume in mid-wipe stops it and is told the truth") {
  have_volume(text("Released"));
  slice(12);
  // The informer does not know it yet: the slice is not begun all the same.
  const std::string kept = with(text("Released"), R"("Delete")", R"("Retain")");
  answers[kGet] = {{200, kept}};
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kGet});
  know_volume(kept);
  CHECK(done());
  CHECK(done());
  CHECK(journal == Calls{kGet, kRemove, kGet});
  const std::string told = events_written();
  const std::string truth = "12 GiB of 100 GiB are wiped and lost";
  REQUIRE(told.find(truth) != std::string::npos);
  CHECK(told.find(truth, told.find(truth) + 1) == std::string::npos);
  CHECK(told.find(R"("count":2)") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a wipe that an earlier daemon began is known by the volume's tags") {
  engine::LogicalVolume lv;
  lv.name = name;
  lv.ownership.emplace();
  lv.ownership->wiping = true;
  storage.present.volumes = {lv};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  know_volume(with(text("Released"), R"("Delete")", R"("Retain")"));
  CHECK(done());
  CHECK(journal.empty());
  CHECK(events_written().find("part of it is wiped and lost") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
