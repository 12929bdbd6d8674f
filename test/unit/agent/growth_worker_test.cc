#include "provisioner/agent/growth_worker.h"

#include "test/unit/agent/growth_lab.h"

namespace flexlocal::provisioner::test {

TEST_CASE_FIXTURE(GrowthLab, "disks, then capacity, then status, each guarded by its version") {
  const std::string volume_version = volumes.get(name)->resource_version;
  const std::string claim_version = claims.get(key)->resource_version;
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  CHECK(body_of(kube::Method::kPatch, kVolumePath) ==
        R"({"metadata":{"resourceVersion":")" + volume_version +
            R"(","annotations":{"flexlocal.io/granted":"2Gi"}},)" +
            R"("spec":{"capacity":{"storage":"2Gi"}}})");
  CHECK(body_of(kube::Method::kPatch, kClaimPath + "/status") ==
        R"({"metadata":{"resourceVersion":")" + claim_version +
            R"("},"status":{"capacity":{"storage":"2Gi"},"conditions":[]}})");
  CHECK(free_for_others() == kGiB);
  const std::string told = events_written();
  CHECK(told.find(R"("reason":"FileSystemResizeSuccessful")") != std::string::npos);
  CHECK(told.find("have 2 GiB on node node-a") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab, "what is done is not done again") {
  CHECK(work().ok());
  journal.clear();
  CHECK(work().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(GrowthLab, "without a mount the claim says that its file system follows") {
  set_open(false);
  Claim claim = bound_claim("2Gi");
  claim.other_conditions = {R"({"type":"Resizing","status":"True"})",
                            R"({"type":"Other","status":"False"})"};
  know_claim(claim);
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  const std::string body = body_of(kube::Method::kPatch, kClaimPath + "/status");
  CHECK(body.find(R"("capacity")") == std::string::npos);
  CHECK(body.find(R"("conditions":[{"type":"Other","status":"False"},)"
                  R"({"type":"FileSystemResizePending","status":"True",)"
                  R"("lastTransitionTime":"2023-11-14T22:13:20Z")") != std::string::npos);
  CHECK(body.find("Resizing") == std::string::npos);
  CHECK(events_written().find("FileSystemResizeRequired") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a volume that is not made yet gets its capacity, and its room is kept") {
  storage.present.holdings.clear();
  set_open(false);
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  CHECK(free_for_others() == Bytes(0));
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a capacity that was raised without room is refused, and takes no room") {
  storage.free() = Bytes(512 * kMiB.count());
  know_volume(raised_volume());
  Claim pending = bound_claim("2Gi");
  pending.file_system_pending = true;
  know_claim(pending);
  answers[kRaise] = {{200, volume_text(sample_spec(), "Bound")}};
  CHECK(failure() == ErrorCode::kNoSpace);
  // This API server has no allocatedResources: only the capacity is to be brought to what is.
  CHECK(journal == Calls{kRaise});
  CHECK(body_of(kube::Method::kPatch, kVolumePath).find("granted") == std::string::npos);
  CHECK(body_of(kube::Method::kPatch, kVolumePath).find(R"("storage":"1Gi")") != std::string::npos);
  CHECK(free_for_others() == Bytes(512 * kMiB.count()));
  const std::string told = events_written();
  CHECK(told.find("from 1 GiB to 2 GiB on node node-a") != std::string::npos);
  CHECK(told.find("has 512 MiB free for backend lvm, 1 GiB more asked") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "behind a raised capacity the disks grow all the same, then the status") {
  know_volume(raised_volume());
  Claim pending = bound_claim("2Gi");
  pending.file_system_pending = true;
  know_claim(pending);
  answers[kTell] = {{200, claim_text(bound_claim("2Gi", "2Gi"))}};
  set_open(false);
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow});
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow});  // only a mount is waited for
  set_open(true);
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kGrow, kTell});
  CHECK(claims.get(key)->capacity == "2Gi");
}

TEST_CASE_FIXTURE(GrowthLab, "without room nothing is touched, and the event has the figures") {
  storage.free() = kMiB;
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal.empty());
  CHECK(storage.looks == 2);
  storage.free() = kTwo;  // somebody made room
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  const std::string told = events_written();
  CHECK(told.find(R"("reason":"VolumeResizeFailed")") != std::string::npos);
  CHECK(told.find("has 1 MiB free for backend lvm, 1 GiB more asked") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "growth keeps within the RAM budget, by the class's ratio where it says one") {
  parts.budget.memory = kTwo;
  parts.budget.disk_per_ram = Ratio::of_millionths(Ratio::kOne);  // 1.7 GiB
  SUBCASE("and what is beyond it is refused") {
    CHECK(failure() == ErrorCode::kNoSpace);
    CHECK(journal.empty());
    CHECK(
        events_written().find("no room to grow volume " + name +
                              " from 1 GiB to 2 GiB on node node-a: pool \\\"default\\\" has 1.69 "
                              "GiB left of its RAM budget") != std::string::npos);
  }
  SUBCASE("and what was given before counts as given") {
    storage.present.holdings = {{name, "group:vg", kTwo}};
    CHECK(work().ok());
  }
  SUBCASE("and a class may have another") {
    put(classes, with(class_text(), R"("reclaimPolicy")",
                      R"("parameters":{"diskPerRam":"2"},"reclaimPolicy")"));
    CHECK(work().ok());
  }
}

TEST_CASE_FIXTURE(GrowthLab, "disks that refuse leave the capacity, and give the room back") {
  storage.grow_status = Error(ErrorCode::kNoSpace, "cannot grow volume: disk on fire");
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal == Calls{kGrow});
  CHECK(free_for_others() == kTwo);
  CHECK(events_written().find("disk on fire") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "killed or cut off at any step, the next pass ends as one that was not") {
  for (const std::string& lost : {kRaise, kTell}) {
    broken[lost] = ErrorCode::kDeadline;
    CHECK(failure() == ErrorCode::kDeadline);
    CHECK(free_for_others() == kGiB);  // counted once, whoever counts it
    broken.clear();
  }
  CHECK(work().ok());
  CHECK(storage.present.holdings.front().size == kTwo);
  CHECK(volumes.get(name)->capacity == "2Gi");
  CHECK(claims.get(key)->capacity == "2Gi");
  CHECK(free_for_others() == kGiB);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a write that somebody was faster than is a conflict, without an event") {
  answers[kRaise] = {{409, refused("Conflict")}};
  CHECK(failure() == ErrorCode::kConflict);
  answers[kRaise] = {{200, grown_volume()}};
  answers[kTell] = {{409, refused("Conflict")}};
  CHECK(failure() == ErrorCode::kConflict);
  CHECK(events_written().find("VolumeResizeFailed") == std::string::npos);
}

// As kube-controller-manager does with the condition Unused, at a claim's first and last pod.
TEST_CASE_FIXTURE(GrowthLab,
                  "a condition written meanwhile is no failure, and the next try keeps it") {
  answers[kTell] = {{409, refused("Conflict")}, {200, claim_text(bound_claim("2Gi", "2Gi"))}};
  CHECK(failure() == ErrorCode::kConflict);
  const std::string unused = R"({"type":"Unused","status":"False","reason":"PodUsingPVC"})";
  Claim changed = bound_claim("2Gi");
  changed.other_conditions = {unused};
  know_claim(changed);
  http.seen.clear();
  CHECK(work().ok());
  const std::string body = body_of(kube::Method::kPatch, kClaimPath + "/status");
  CHECK(body.find(concat(R"("conditions":[)", unused, "]")) != std::string::npos);
  kube::Metrics metrics;
  parts.work.show_in(metrics);
  CHECK(metrics.text().find("flexlocal_volume_grow_failed_total{") == std::string::npos);
  CHECK(metrics.text().find("flexlocal_volume_grow_total{class=\"local\"} 1") != std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab, "disks that fail behind a growth are looked at before more is given") {
  storage.after_growth = Error(ErrorCode::kDeadline, "lvextend did not end in time");
  CHECK(failure() == ErrorCode::kDeadline);
  REQUIRE(wait_for(ledger.refresh(false)).ok());
  const auto room = ledger.room({"pvc-other", engine::Backend::kLvm, "default", kGiB}, "other");
  REQUIRE(room.ok());
  CHECK(room->free == kGiB);
  CHECK(volumes.get(name)->capacity == "1Gi");
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a growth that failed keeps its room until a look shows what it took") {
  const engine::Inventory before = storage.present;
  storage.after_growth = Error(ErrorCode::kDeadline, "xfs_growfs did not end in time");
  storage.hold = true;
  std::optional<Status> worked;
  tasks.spawn(kube::test::store(worker.work(key), worked));
  REQUIRE(run_until([&] { return storage.held == 1; }));
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  storage.go.notify_all();
  REQUIRE(run_until([&] { return worked.has_value(); }));
  CHECK(worked->error().code() == ErrorCode::kDeadline);
  storage.inventory_status = {};
  storage.present = before;  // what a look says that was begun before the growth
  CHECK(free_for_others() == kGiB);
}

TEST_CASE_FIXTURE(GrowthLab, "a claim that goes away meanwhile needs no status") {
  answers[kTell] = {{404, refused("NotFound")}};
  CHECK(work().ok());
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a capacity without an answer keeps its room until the answer is known") {
  storage.present.holdings.clear();  // else the disks would show it
  broken[kRaise] = ErrorCode::kDeadline;
  CHECK(failure() == ErrorCode::kDeadline);
  CHECK(free_for_others() == Bytes(0));
  know_claim(bound_claim("1Gi"));  // and it is asked for no more
  CHECK(work().ok());
  CHECK(free_for_others() == kGiB);
}

TEST_CASE_FIXTURE(GrowthLab, "two growths at once never both get the last room") {
  storage.free() = kGiB;
  know_volume(volume_text(sample_spec(kOtherUid), "Bound"));
  Claim second = bound_claim("2Gi");
  second.name = "second";
  second.uid = kOtherUid;
  second.volume_name = "pvc-" + kOtherUid;
  know_claim(second);
  storage.present.holdings.push_back({second.volume_name, "group:vg", kGiB});
  const std::string other_key = second.key();
  storage.hold = true;
  std::optional<Status> one, two;
  tasks.spawn(kube::test::store(worker.work(key), one));
  REQUIRE(run_until([&] { return storage.held == 1; }));
  tasks.spawn(kube::test::store(worker.work(other_key), two));
  REQUIRE(run_until([&] { return two.has_value(); }));
  CHECK(two->error().code() == ErrorCode::kNoSpace);
  storage.go.notify_all();
  REQUIRE(run_until([&] { return one.has_value(); }));
  CHECK(one->ok());
  CHECK(storage.free() == Bytes(0));
}

}  // namespace flexlocal::provisioner::test
