#include "provisioner/objects/growth_status.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr Bytes kTwo = kGiB + kGiB;

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

// As the expand controller of Kubernetes 1.37 leaves the claim.
Claim marked_claim(const std::string& requested, const std::string& allocated = "2Gi") {
  Claim claim = bound_claim(requested);
  claim.allocated = allocated;
  claim.resize_status = "NodeResizePending";
  claim.file_system_pending = true;
  return claim;
}

bool contains(const std::string& text, const std::string& piece) {
  return text.find(piece) != std::string::npos;
}

TEST_CASE("a growth that is done leaves nothing of it in the claim's status") {
  Claim claim = marked_claim("2Gi");
  claim.resize_error = "earlier";
  const std::string body = complete_body(claim, kTwo, allocated_for(claim, kTwo, true));
  CHECK(contains(body, R"("capacity":{"storage":"2Gi"},"allocatedResources":{"storage":"2Gi"},)"
                       R"("allocatedResourceStatuses":{"storage":null},"conditions":[])"));
}

TEST_CASE("quota is charged for what was asked for, not for what that rounds to") {
  const Claim claim = marked_claim("1500M", "9Gi");  // lowered since
  CHECK(allocated_for(claim, Bytes(1432 * kMiB.count()), true) == "1500M");
  CHECK(allocated_for(claim, Bytes(1432 * kMiB.count()), false) == "1432Mi");
  // What an API server does not have is not written.
  CHECK(allocated_for(marked_claim("2Gi", ""), kTwo, true).empty());
}

TEST_CASE("without a mount the status waits for one, and no failure is left in it") {
  Claim failed = marked_claim("2Gi");
  failed.file_system_pending = false;
  failed.resize_status = "ControllerResizeInfeasible";
  failed.resize_error = "no room";
  const std::string body = pending_body(failed, "2Gi", Clock::Wall());
  CHECK(contains(body, R"("allocatedResourceStatuses":{"storage":"NodeResizePending"})"));
  CHECK(contains(body, R"("conditions":[{"type":"FileSystemResizePending","status":"True")"));
  CHECK_FALSE(contains(body, "ControllerResizeError"));
}

TEST_CASE("without room the status says what there is, and what was asked for") {
  const Claim claim = marked_claim("2Gi");
  const std::string body = failed_body(claim, "1Gi", kGiB, Clock::Wall());
  CHECK(contains(body, R"("status":{"allocatedResources":{"storage":"1Gi"},)"
                       R"("allocatedResourceStatuses":{"storage":"ControllerResizeInfeasible"},)"
                       R"("conditions":[{"type":"ControllerResizeError","status":"True",)"));
  CHECK(contains(body, failure_to("2Gi")));
  CHECK_FALSE(contains(body, "FileSystemResizePending"));
  Claim lowered = failed_claim();
  lowered.requested = "1500Mi";
  CHECK_FALSE(says_failed(lowered, "1Gi", kGiB));
  CHECK(contains(failed_body(lowered, "1Gi", kGiB, Clock::Wall()), failure_to("1500Mi")));
}

}  // namespace flexlocal::provisioner::test
