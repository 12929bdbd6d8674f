#include "provisioner/objects/pod_memory.h"

#include <sstream>

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kPods =
    "GET /api/v1/namespaces/shop/pods?fieldSelector=status.phase%3DPending&limit=500";

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

std::string asking(const std::string& memory, const std::string& more = "") {
  return concat(R"({"resources":{"requests":{"memory":")", memory, R"(","cpu":"1"}})", more, "}");
}

// Of what they ask for, between spaces; "10Mi+" is a sidecar, which is always restarted.
std::string containers(const std::string& words) {
  std::vector<std::string> out;
  std::istringstream in(words);
  for (std::string word; in >> word;) {
    const bool sidecar = word.ends_with('+');
    if (sidecar) word.pop_back();
    out.push_back(asking(word, concat(R"(,"restartPolicy":")", sidecar ? "Always" : "Never", '"')));
  }
  return concat('[', join(out, ","), ']');
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

// Each by hand after PodRequests in component-helpers/resource/helpers.go; the cluster tier holds
// the same shapes against the scheduler itself (pod-memory.bats).
TEST_CASE("memory is counted as the scheduler counts it") {
  struct Row {
    std::string what;
    const char* init;  // "10Mi+" is a sidecar
    const char* run;
    std::string more;
    std::uint64_t expected;
  };
  const std::string whole = R"("resources":{"requests":{"memory":"300Mi","cpu":"1"}},)";
  const std::string limit = R"("resources":{"requests":{"cpu":"1"},"limits":{"memory":"9Gi"}},)";
  const std::string over = R"("overhead":{"memory":"7Mi","cpu":"1"},)";
  const Row rows[] = {
      {"init containers run one after the other", "150Mi 50Mi", "100Mi 100Mi", "", 200},
      {"the largest of them counts alone", "150Mi 300Mi", "100Mi 100Mi", "", 300},
      {"a sidecar runs beside the containers", "10Mi+", "100Mi", "", 110},
      {"and beside the init containers after it", "10Mi+ 200Mi", "100Mi", "", 210},
      {"but not beside those before it", "200Mi 10Mi+", "100Mi", "", 200},
      {"nor a later one", "10Mi+ 200Mi 20Mi+", "100Mi", "", 210},
      {"several sidecars add up", "10Mi+ 20Mi+ 1Mi", "100Mi 5Mi", "", 135},
      {"also beside an init container", "10Mi+ 200Mi+ 100Mi", "5Mi", "", 310},
      {"a whole goes before the containers", "10Mi+ 250Mi", "100Mi", whole, 300},
      {"also where they ask for more", "", "900Mi", whole, 300},
      {"one without memory does not", "10Mi+", "100Mi", limit, 110},
      {"overhead comes on top of containers", "200Mi", "100Mi", over, 207},
      {"and on top of the whole", "", "100Mi", over + whole, 307},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const std::string spec = concat("{", row.more, R"("initContainers":)", containers(row.init),
                                    R"(,"containers":)", containers(row.run), "}");
    CHECK(memory_of_spec(spec) == mib(row.expected));
  }
}

TEST_CASE("sums that no quantity holds stay at the largest") {
  const std::string most = asking("8191Pi");
  CHECK(memory_of_spec(R"({"containers":[)" + most + "," + most + "," + most + "]}") >= kMostBytes);
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
