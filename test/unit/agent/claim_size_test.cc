#include "provisioner/agent/claim_worker.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using Calls = std::vector<std::string>;

const std::string kCreate = "POST " + kVolumes;
const std::string kHandBack = "PATCH " + kClaimPath;

struct Fixture : NodeLab {
  ClaimWorker worker{parts};

  Fixture() {
    know_class();
    know_claim(sample_claim());
    answers[kCreate] = {{201, volume_text(sample_spec(), "Pending")}};
  }
  Status work() { return wait_for(worker.work("shop/data")); }
  // With that many bytes it was written.
  Bytes provisioned() const {
    const auto document = JsonDocument::parse(body_of(kube::Method::kPost, kVolumes));
    REQUIRE(document.ok());
    const auto volume = decode_volume(document->root());
    REQUIRE(volume.has_value());
    const auto spec = spec_of(*volume);
    REQUIRE(spec.ok());
    return spec->size;
  }
  ErrorCode failure() {
    const Status worked = work();
    REQUIRE_FALSE(worked.ok());
    return worked.error().code();
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "beyond the RAM budget the claim is handed back, unless its class has none") {
  parts.budget.memory = kMiB;
  SUBCASE("by the node's ratio") {
    CHECK(work().ok());
    CHECK(journal == Calls{kHandBack});
    CHECK(events_written().find(
              R"(no room on node node-a: pool \"default\" has 27.19 MiB left of its RAM budget)") !=
          std::string::npos);
  }
  SUBCASE("a class that wants as much as the disks have") {
    put(classes, with(class_text(), R"("reclaimPolicy")",
                      R"("parameters":{"diskPerRam":"0"},"reclaimPolicy")"));
    CHECK(work().ok());
    CHECK(volumes.get("pvc-" + kUid) != nullptr);
  }
}

namespace {

// The class takes sizes from the pod's memory, four times that.
struct ByMemory : Fixture {
  static inline const std::string kPods =
      "GET /api/v1/namespaces/shop/pods?fieldSelector=status.phase%3DPending&limit=500";

  ByMemory() {
    put(classes, with(class_text(), R"("reclaimPolicy")",
                      R"("parameters":{"sizeFrom":"podMemory","diskPerRam":"4"},"reclaimPolicy")"));
  }
  void have_pod(const std::string& memory) {
    answers[kPods] = {
        {200, R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"p"},)"
              R"("spec":{"volumes":[{"persistentVolumeClaim":{"claimName":"data"}}],)"
              R"("containers":[{"resources":{"requests":{"memory":")" +
                  memory + R"("}}}]}}]})"}};
  }
};

}  // namespace

TEST_CASE_FIXTURE(ByMemory, "a volume is as large as goes with its pod's memory, or as asked for") {
  SUBCASE("more than the claim asks for") {
    have_pod("384Mi");
    CHECK(work().ok());
    CHECK(provisioned() == Bytes(1536 * kMiB.count()));
  }
  SUBCASE("less") {
    have_pod("64Mi");
    CHECK(work().ok());
    CHECK(provisioned() == kGiB);
  }
  SUBCASE("more than there is room for") {
    have_pod("1Gi");
    CHECK(work().ok());
    CHECK(journal == Calls{kPods, kHandBack});
  }
}

TEST_CASE_FIXTURE(ByMemory, "without leave to read pods, or a pod, it is said what is missing") {
  SUBCASE("leave") {
    answers[kPods] = {{403, refused("Forbidden")}};
    CHECK(failure() == ErrorCode::kDenied);
    CHECK(events_written().find("kubectl apply -f read-pods.yaml of the folder") !=
          std::string::npos);
  }
  SUBCASE("a pod") {
    answers[kPods] = {{200, R"({"metadata":{"resourceVersion":"1"},"items":[]})"}};
    CHECK(failure() == ErrorCode::kNotFound);
    CHECK(events_written().find("sizeFrom podMemory: no pod that waits for the claim") !=
          std::string::npos);
  }
  SUBCASE("before the claim is marked nothing is said") {
    answers[kPods] = {{403, refused("Forbidden")}};
    Claim claim = sample_claim();
    claim.marked = false;
    know_claim(claim);
    CHECK(work().ok());
    CHECK(events_written().empty());
  }
  CHECK(volumes.size() == 0);
}

}  // namespace flexlocal::provisioner::test
