#include "provisioner/agent/node_memory.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::test::Reply;

std::string node_with(const std::string& memory, int version) {
  return concat(R"({"kind":"Node","metadata":{"name":"node-a","resourceVersion":")", version,
                R"("},"status":{"capacity":{"memory":")", memory, R"("}}})");
}

std::string event(std::string_view type, const std::string& node) {
  return concat(R"({"type":")", type, R"(","object":)", node, "}\n");
}

// A server without streaming lists: a list with `listed`, then one watch with `events`.
struct Fixture : kube::test::Lab {
  std::string listed = node_with("1Gi", 1);
  std::vector<std::string> events;
  bool denied = false;
  std::vector<std::string> asked;
  kube::test::ScriptedServer server{
      io, [this](const kube::test::Seen& request) { return answer(request); }};
  std::unique_ptr<kube::CurlHttp> http = make_http();
  kube::ApiClient api{*http, clock, kube::ApiOptions{.limit = {}}};
  NodeBudget budget{kGiB};
  std::vector<Bytes> changes;
  NodeMemory memory{api, log, "node-a", budget, [this] { changes.push_back(*budget.memory); }};

  std::unique_ptr<kube::CurlHttp> make_http() {
    kube::ClusterConfig config;
    config.server = server.url();
    return std::move(*kube::CurlHttp::make(io, clock, log, config));
  }
  Reply answer(const kube::test::Seen& request) {
    asked.push_back(request.target);
    if (denied) return kube::test::body("{}", 403);
    if (!request.query("sendInitialEvents").empty()) return kube::test::body("{}", 422);
    if (!request.query("watch").empty())
      return kube::test::stream(std::exchange(events, {}), Reply::End::kHang);
    return kube::test::body(
        concat(R"({"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":[)", listed, "]}"));
  }
  void follow() { tasks.spawn(memory.follow()); }
  bool watches() const {
    return !asked.empty() && asked.back().find("watch=") != std::string::npos &&
           asked.back().find("sendInitialEvents") == std::string::npos;
  }
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a node's memory is followed, up and down, as long as it is said") {
  events = {event("MODIFIED", node_with("2Gi", 6)),  event("MODIFIED", node_with("512Mi", 7)),
            event("MODIFIED", node_with("much", 8)), event("MODIFIED", node_with("0", 9)),
            event("DELETED", node_with("4Gi", 9)),   event("ADDED", node_with("3Gi", 10))};
  follow();
  const std::vector<Bytes> expected{kGiB + kGiB, Bytes(512 * kMiB.count()), kGiB + kGiB + kGiB};
  CHECK(run_until([&] { return changes.size() >= expected.size(); }));
  CHECK(changes == expected);
}

TEST_CASE_FIXTURE(Fixture, "only this node's object is asked for, once, and then watched") {
  follow();
  REQUIRE(run_until([this] { return watches(); }));
  for (const std::string& target : asked)
    CHECK(target.find("fieldSelector=metadata.name%3Dnode-a") != std::string::npos);
  CHECK(asked.size() == 3);  // a streaming list, a plain one, the watch
}

TEST_CASE_FIXTURE(Fixture, "a Node that cannot be read leaves what is known, and is told") {
  denied = true;
  follow();
  CHECK(run_until([&] { return asked.size() >= 3; }));
  CHECK(budget.memory == kGiB);
  CHECK(changes.empty());
  CHECK(log.has("list failed"));
}

}  // namespace flexlocal::provisioner::test
