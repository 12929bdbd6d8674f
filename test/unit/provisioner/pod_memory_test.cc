#include "provisioner/pod_memory.h"

#include "test/unit/provisioner/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kPods =
    "GET /api/v1/namespaces/shop/pods?fieldSelector=status.phase%3DPending&limit=500";

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

std::string asking(const std::string& memory, const std::string& more = "") {
  return concat(R"({"resources":{"requests":{"memory":")", memory, R"(","cpu":"1"}})", more, "}");
}

Bytes memory_of_spec(const std::string& spec) {
  const auto document = JsonDocument::parse(concat(R"({"spec":)", spec, "}"));
  REQUIRE(document.ok());
  return memory_requested(document->root());
}

std::string pod(const std::string& name, const std::string& created, const std::string& volume,
                const std::string& memory) {
  return concat(R"({"metadata":{"name":")", name, R"(","creationTimestamp":")", created,
                R"("},"spec":{"containers":[)", asking(memory), R"(],"volumes":[{"emptyDir":{}},)",
                volume, "]}}");
}

std::string claiming(const std::string& claim) {
  return concat(R"({"name":"v","persistentVolumeClaim":{"claimName":")", claim, R"("}})");
}

struct Fixture : NodeLab {
  Result<Bytes> memory(const std::vector<std::string>& pods) {
    answers[kPods] = {
        {200, concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", join(pods, ","), "]}")}};
    return wait_for(memory_of_first_pod(api, "shop", "data"));
  }
};

}  // namespace

TEST_CASE("containers are added up, and what is no quantity counts as nothing") {
  CHECK(memory_of_spec(R"({"containers":[)" + asking("1Gi") + "," + asking("512Mi") + ",{}," +
                       asking("much") + "]}") == mib(1536));
  CHECK(memory_of_spec("{}") == Bytes(0));
}

TEST_CASE("an init container counts where it needs more than all that runs later") {
  const std::string run = R"("containers":[)" + asking("100Mi") + "," + asking("100Mi") + "]";
  CHECK(memory_of_spec(R"({"initContainers":[)" + asking("150Mi") + "," + asking("50Mi") + "]," +
                       run + "}") == mib(200));
  CHECK(memory_of_spec(R"({"initContainers":[)" + asking("150Mi") + "," + asking("300Mi") + "]," +
                       run + "}") == mib(300));
}

TEST_CASE("a sidecar runs beside the containers, and beside the init containers after it") {
  const std::string sidecar = asking("10Mi", R"(,"restartPolicy":"Always")");
  const std::string run = R"("containers":[)" + asking("100Mi") + "]";
  CHECK(memory_of_spec(R"({"initContainers":[)" + sidecar + "," + asking("50Mi") + "]," + run +
                       "}") == mib(110));
  CHECK(memory_of_spec(R"({"initContainers":[)" + sidecar + "," + asking("200Mi") + "," + sidecar +
                       "]," + run + "}") == mib(210));
  CHECK(memory_of_spec(R"({"initContainers":[)" + asking("200Mi") + "," + sidecar + "]," + run +
                       "}") == mib(200));
}

TEST_CASE("what the pod asks for as a whole goes before its containers, and overhead on top") {
  CHECK(memory_of_spec(R"({"resources":{"requests":{"memory":"1Gi"}},"overhead":{"memory":"1Mi"},)"
                       R"("containers":[)" +
                       asking("2Gi") + "]}") == mib(1025));
}

TEST_CASE_FIXTURE(Fixture, "of several pods the oldest that uses the claim counts") {
  CHECK(*memory({pod("c", "2026-01-02T00:00:00Z", claiming("data"), "3Gi"),
                 pod("b", "2026-01-01T00:00:00Z", claiming("data"), "2Gi"),
                 pod("a", "2026-01-01T00:00:00Z", claiming("data"), "1Gi"),
                 pod("x", "2025-01-01T00:00:00Z", claiming("other"), "9Gi")}) == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a claim that was made for a pod's ephemeral volume is that pod's") {
  CHECK(memory({pod("da", "2026-01-01T00:00:00Z", R"({"name":"ta","ephemeral":{}})", "1Gi"),
                pod("d", "2026-01-01T00:00:00Z", R"({"name":"x","ephemeral":{}})", "2Gi")})
            .error()
            .message() == "no pod that waits for the claim is to be seen");
  answers.clear();
  answers[kPods] = {
      {200, concat(R"({"metadata":{"resourceVersion":"1"},"items":[)",
                   pod("web", "2026-01-01T00:00:00Z", R"({"name":"data","ephemeral":{}})", "1Gi"),
                   "]}")}};
  CHECK(*wait_for(memory_of_first_pod(api, "shop", "web-data")) == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "an answer that is no list proves nothing") {
  answers[kPods] = {{200, "{}"}};
  const auto found = wait_for(memory_of_first_pod(api, "shop", "data"));
  REQUIRE_FALSE(found.ok());
  CHECK(found.error().code() == ErrorCode::kCorrupt);
}

}  // namespace flexlocal::provisioner::test
