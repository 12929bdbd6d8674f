// For whose pods the record of a volume is: what the daemon does about it as PersistentVolumes
// change.
#include <algorithm>

#include "provisioner/agent/volume_worker.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using Calls = std::vector<std::string>;

struct Fixture : NodeLab {
  VolumeWorker worker{parts};
  const std::string name = "pvc-" + kUid;

  bool done() {
    const auto worked = wait_for(worker.work(name));
    return worked.ok() && *worked == Pass::kDone;
  }
  void see_record(const std::string& cluster, const std::string& claim) {
    storage.present.claims = {{name, {cluster, claim}}};
    REQUIRE(wait_for(ledger.refresh(true)).ok());
  }
  std::string record_for(const std::string& claim) const {
    return concat("record ReadWriteOnce of ", name, " for ", claim);
  }
  static std::string text(const std::string& phase) { return volume_text(sample_spec(), phase); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a claim that the record lacks, or has another of, is recorded with its mode") {
  const std::string record_it = concat("record ReadWriteOncePod of ", name, " for ", kUid);
  const auto one_pod = [&] {
    return with(text("Bound"), R"(["ReadWriteOnce"])", R"(["ReadWriteOncePod"])");
  };
  know_volume(one_pod());
  CHECK(done());  // the records have not been looked at
  CHECK(journal.empty());
  know_volume(with(one_pod(), R"("uid":")" + kUid, R"("uid":")" + kOtherUid));
  CHECK(done());
  CHECK(journal == Calls{concat("record ReadWriteOncePod of ", name, " for ", kOtherUid)});
  journal.clear();
  know_volume(one_pod());
  for (const std::string& recorded : {std::string(), kOtherUid}) {
    storage.present.claims = {{name, {kCluster, recorded}}};
    REQUIRE(wait_for(ledger.refresh(true)).ok());
    CHECK(done());
    CHECK(journal == Calls{record_it});
    journal.clear();
  }
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(done());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a list of access modes that is edited later changes no record") {
  storage.present.claims = {{name, {kCluster, kUid}}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  know_volume(with(text("Bound"), R"(["ReadWriteOnce"])", R"(["ReadWriteOncePod"])"));
  CHECK(done());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "no claim is recorded for what is not made here, or of another cluster") {
  know_volume(with(with(text("Bound"), kCluster, kOtherUid), R"("uid":")" + kUid,
                   R"("uid":")" + kOtherUid));
  CHECK(done());
  see_record(kOtherUid, "");
  know_volume(text("Bound"));
  CHECK(done());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume that was deleted under its claim gets its claim recorded, too") {
  see_record(kCluster, "");
  know_volume(with(text("Bound"), R"("uid":"uid-of-pv")",
                   R"("uid":"uid-of-pv","deletionTimestamp":"2021-03-01T11:00:00Z")"));
  CHECK(done());
  CHECK(journal == Calls{record_for(kUid)});
}

TEST_CASE_FIXTURE(Fixture,
                  "a volume that another claim had and that is not removed is for nobody") {
  see_record(kCluster, kOtherUid);
  const std::string released =
      with(text("Released"), R"("uid":")" + kUid, R"("uid":")" + kOtherUid);
  know_volume(released);
  answers["GET " + kVolumePath] = {{200, released}};
  CHECK_FALSE(done());
  CHECK(std::count(journal.begin(), journal.end(), record_for("")) == 1);
}

TEST_CASE_FIXTURE(Fixture, "what is still a promise is promised as its object says") {
  storage.present.promised = {{*engine::VolumeName::of_claim(kUid), kCluster}};
  see_record(kCluster, kUid);
  engine::VolumeSpec stated = sample_spec();
  stated.on_delete = engine::OnDelete::kZero;
  know_volume(volume_text(stated, "Bound"));
  CHECK(done());
  REQUIRE(storage.last_promise.has_value());
  CHECK(*storage.last_promise == stated);
}

TEST_CASE_FIXTURE(Fixture, "a volume that is kept and has lost its claim is recorded for nobody") {
  for (const std::string& volume :
       {with(text("Released"), R"("Delete")", R"("Retain")"),
        with(text("Available"), concat(R"(,"uid":")", kUid, '"'), "")}) {
    journal.clear();
    see_record(kCluster, kUid);
    know_volume(volume);
    CHECK(done());
    CHECK(journal == Calls{record_for("")});
    see_record(kCluster, "");
    CHECK(done());
    CHECK(journal.size() == 1);
  }
}

TEST_CASE_FIXTURE(Fixture, "a claim that cannot be recorded is said, and tried again") {
  see_record(kCluster, "");
  know_volume(text("Bound"));
  storage.claim_status = Error(ErrorCode::kUnavailable, "no");
  const auto worked = wait_for(worker.work(name));
  REQUIRE_FALSE(worked.ok());
  CHECK(worked.error().code() == ErrorCode::kUnavailable);
  CHECK(events_written().find("recording for which claim a volume is: no") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
