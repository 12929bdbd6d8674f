#include "provisioner/objects/growth_status.h"

#include "test/unit/agent/growth_lab.h"

namespace flexlocal::provisioner::test {
namespace {

std::string failure_to(const std::string& requested) {
  return concat("the volume keeps 1 GiB and does not grow to ", requested,
                " now; the event VolumeResizeFailed says why");
}

// As the worker leaves it without room for the 2 GiB that are asked for.
Claim failed_claim() {
  Claim claim = bound_claim("2Gi");
  claim.allocated = "1Gi";
  claim.resize_status = "ControllerResizeInfeasible";
  claim.resize_error = failure_to("2Gi");
  return claim;
}

}  // namespace

TEST_CASE("a status says what is only if nothing of an earlier growth is left in it") {
  Claim claim = failed_claim();
  CHECK(says_failed(claim, "1Gi", kGiB));
  CHECK_FALSE(says_failed(claim, "2Gi", kGiB));
  CHECK_FALSE(says_failed(claim, "1Gi", kTwo));
  claim.resize_status = "NodeResizePending";
  CHECK_FALSE(says_failed(claim, "1Gi", kGiB));
  claim.file_system_pending = true;
  CHECK_FALSE(says_pending(claim, "1Gi"));  // and that it failed
  claim.resize_error.clear();
  CHECK(says_pending(claim, "1Gi"));
  CHECK(says_pending(claim, "1024Mi"));
  CHECK_FALSE(says_pending(claim, "2Gi"));
  claim.file_system_pending = false;
  CHECK_FALSE(says_pending(claim, "1Gi"));
}

TEST_CASE_FIXTURE(GrowthLab, "a growth that is done leaves nothing of it in the claim's status") {
  know_volume(raised_volume());
  Claim claim = marked_claim("2Gi");
  claim.resize_error = "earlier";
  know_claim(claim);
  CHECK(work().ok());
  CHECK(wrote(R"("allocatedResources":{"storage":"2Gi"},)"
              R"("allocatedResourceStatuses":{"storage":null},"conditions":[])"));
}

TEST_CASE_FIXTURE(GrowthLab,
                  "quota is charged for what was asked for, not for what that rounds to") {
  know_claim(marked_claim("1500M", "9Gi"));  // lowered since
  CHECK(work().ok());
  CHECK(wrote(R"("capacity":{"storage":"1432Mi"},"allocatedResources":{"storage":"1500M"})"));
}

TEST_CASE_FIXTURE(GrowthLab, "a request that is lowered again gets what it asks for") {
  know_volume(with(raised_volume(), R"("storage":"2Gi")", R"("storage":"9Gi")"));
  know_claim(marked_claim("2Gi", "9Gi"));
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  CHECK(body_of(kube::Method::kPatch, kVolumePath).find(R"("storage":"2Gi")") != std::string::npos);
  CHECK(wrote(R"("allocatedResources":{"storage":"2Gi"})"));
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a request lowered below what the disks have is charged for what they have") {
  storage.present.holdings = {{name, "group:vg", kTwo}};
  know_volume(with(raised_volume(), R"("storage":"2Gi")", R"("storage":"9Gi")"));
  know_claim(marked_claim("1500Mi", "9Gi"));
  CHECK(work().ok());
  CHECK(wrote(R"("capacity":{"storage":"2Gi"},"allocatedResources":{"storage":"2Gi"})"));
}

TEST_CASE_FIXTURE(GrowthLab, "without a mount the status that waits for one is kept, or written") {
  set_open(false);
  know_volume(raised_volume());
  know_claim(marked_claim("2Gi"));
  CHECK(work().ok());
  CHECK(journal == Calls{kGrow});
  Claim failed = marked_claim("2Gi");
  failed.file_system_pending = false;
  failed.resize_status = "ControllerResizeInfeasible";
  failed.resize_error = "no room";
  know_claim(failed);
  CHECK(work().ok());
  CHECK(wrote(R"("allocatedResourceStatuses":{"storage":"NodeResizePending"})"));
  CHECK(wrote(R"("conditions":[{"type":"FileSystemResizePending","status":"True")"));
  CHECK_FALSE(wrote("ControllerResizeError"));
}

TEST_CASE_FIXTURE(GrowthLab, "without room capacity and status say what there is, once") {
  storage.free() = kMiB;
  know_volume(raised_volume());
  know_claim(marked_claim("2Gi"));
  answers[kRaise] = {{200, volume_text(sample_spec(), "Bound")}};
  const Claim failed = failed_claim();
  answers[kTell] = {{200, claim_text(failed)}};
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal == Calls{kRaise, kTell});
  CHECK(body_of(kube::Method::kPatch, kVolumePath).find(R"("storage":"1Gi")") != std::string::npos);
  CHECK(wrote(R"("status":{"allocatedResources":{"storage":"1Gi"},)"
              R"("allocatedResourceStatuses":{"storage":"ControllerResizeInfeasible"},)"
              R"("conditions":[{"type":"ControllerResizeError","status":"True",)"));
  CHECK(wrote(failed.resize_error));
  CHECK_FALSE(wrote("FileSystemResizePending"));
  journal.clear();
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(GrowthLab,
                  "a smaller request without room either is said in place of the first") {
  storage.free() = kMiB;
  Claim failed = failed_claim();
  failed.requested = "1500Mi";
  know_claim(failed);
  failed.resize_error = failure_to("1500Mi");
  answers[kTell] = {{200, claim_text(failed)}};
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal == Calls{kTell});
  CHECK(wrote(failed.resize_error));
}

TEST_CASE_FIXTURE(GrowthLab, "disks that fail leave capacity and status saying what there is") {
  storage.grow_status = Error(ErrorCode::kUnavailable, "disk on fire");
  know_volume(raised_volume());
  know_claim(marked_claim("2Gi"));
  answers[kRaise] = {{200, volume_text(sample_spec(), "Bound")}};
  CHECK(failure() == ErrorCode::kUnavailable);
  CHECK(journal == Calls{kGrow, kRaise, kTell});
  CHECK(wrote(R"("storage":"ControllerResizeInfeasible")"));
}

TEST_CASE_FIXTURE(GrowthLab,
                  "disks that cannot be looked at leave the status, and are looked at once") {
  storage.inventory_status = Error(ErrorCode::kDeadline, "lvs did not end in time");
  know_volume(raised_volume());
  know_claim(marked_claim("2Gi"));
  CHECK(failure() == ErrorCode::kDeadline);
  CHECK(journal.empty());
  CHECK(storage.looks == 1);
}

TEST_CASE_FIXTURE(GrowthLab, "an expand controller that is at work is not corrected half-way") {
  storage.free() = kMiB;
  know_volume(raised_volume());
  Claim claim = marked_claim("2Gi");
  claim.resize_status = "ControllerResizeInProgress";
  know_claim(claim);
  CHECK(failure() == ErrorCode::kNoSpace);
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(GrowthLab, "what an API server refuses of it changes nothing about the refusal") {
  storage.free() = kMiB;
  know_claim(marked_claim("2Gi"));
  answers[kTell] = {{409, refused("Conflict")}};
  CHECK(failure() == ErrorCode::kNoSpace);
  answers[kTell] = {{403, refused("Forbidden")}};
  CHECK(failure() == ErrorCode::kNoSpace);
}

TEST_CASE_FIXTURE(GrowthLab,
                  "what somebody wrote after all was done is settled without the disks") {
  know_volume(with(raised_volume(), R"("storage":"2Gi")", R"("storage":"3Gi")"));
  Claim claim = marked_claim("2Gi", "3Gi");
  claim.capacity = "2Gi";
  know_claim(claim);
  CHECK(work().ok());
  CHECK(journal == Calls{kRaise, kTell});
  CHECK(body_of(kube::Method::kPatch, kVolumePath).find("granted") == std::string::npos);
  CHECK(wrote(R"("capacity":{"storage":"2Gi"},"allocatedResources":{"storage":"2Gi"},)"
              R"("allocatedResourceStatuses":{"storage":null},"conditions":[])"));
  CHECK(events_written().find("FileSystemResize") == std::string::npos);
}

TEST_CASE_FIXTURE(GrowthLab, "a volume that does not grow at all has its claim say so") {
  Claim claim = marked_claim("2Gi");
  know_volume(with(volume_text(sample_spec(), "Bound"), kCluster, kOtherUid));
  know_claim(claim);
  CHECK(failure() == ErrorCode::kInvalid);
  CHECK(journal == Calls{kTell});
  CHECK(wrote(R"("allocatedResources":{"storage":"1Gi"})"));
}

}  // namespace flexlocal::provisioner::test
