#include "provisioner/agent/membership.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

// A cluster with its node, whose API server has too much to do at first.
struct BusyServer : kube::test::Lab {
  kube::test::FakeHttp http;
  std::chrono::seconds pause{1};
  std::size_t refused = 1;
  std::optional<Result<Membership>> membership;

  BusyServer() {
    http.answer = [this](const kube::HttpRequest& request) -> Result<kube::HttpResponse> {
      if (http.seen.size() <= refused)
        return kube::HttpResponse{.status = 429, .body = "{}", .retry_after = pause};
      const bool node = request.target == "/api/v1/nodes/node-a";
      const std::string_view labels = R"("labels":{"kubernetes.io/hostname":"host-a"})";
      return kube::HttpResponse{
          .status = 200,
          .body = concat(R"({"metadata":{"uid":"u",)", node ? labels : R"("name":"n")", "}}"),
          .retry_after = {}};
    };
  }
  void begin(kube::ApiClient& api) {
    tasks.spawn(kube::test::store(await_membership(api, kNode, log), membership));
  }
};

}  // namespace

TEST_CASE("a node is known by its hostname label and its cluster by kube-system's uid") {
  NodeLab lab;
  lab.answers["GET /api/v1/nodes/node-a"] = {
      {200, R"({"metadata":{"uid":"uid-of-node","labels":{"kubernetes.io/hostname":"host-a"}},)"
            R"("status":{"capacity":{"memory":"65800064Ki"},"allocatable":{"memory":"1Ki"}}})"}};
  lab.answers["GET /api/v1/namespaces/kube-system"] = {
      {200, R"({"metadata":{"uid":")" + kCluster + R"("}})"}};
  const auto membership = lab.wait_for(load_membership(lab.api, kNode));
  REQUIRE(membership.ok());
  CHECK(membership->node.name == kNode);
  CHECK(membership->node.hostname == "host-a");
  CHECK(membership->node.uid == "uid-of-node");
  CHECK(membership->cluster_id == kCluster);
  CHECK(membership->memory == Bytes(65'800'064 * kKiB.count()));
}

TEST_CASE("a node without the label, or without a Node, is refused in words") {
  NodeLab lab;
  const auto unlabelled = lab.wait_for(load_membership(lab.api, kNode));
  REQUIRE_FALSE(unlabelled.ok());
  CHECK(unlabelled.error().code() == ErrorCode::kNotFound);
  CHECK(unlabelled.error().message() == "Node node-a has no label kubernetes.io/hostname");
  lab.answers["GET /api/v1/nodes/node-a"] = {{404, NodeLab::refused("NotFound")}};
  const auto missing = lab.wait_for(load_membership(lab.api, kNode));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code() == ErrorCode::kNotFound);
}

TEST_CASE_FIXTURE(BusyServer, "a server that asks for a pause is asked again when it is over") {
  kube::ApiClient api(http, clock, {.limit = {}, .longest_pause = std::chrono::milliseconds(40)});
  const auto began = clock.now();
  begin(api);
  REQUIRE(run_until([&] { return membership.has_value(); }));
  CHECK(membership->ok());
  CHECK(clock.now() - began >= std::chrono::milliseconds(40));
  CHECK(http.seen.size() == 3);
  CHECK(log.has("asks for a pause"));
}

TEST_CASE_FIXTURE(BusyServer, "a pause longer than a request's deadline is waited for, too") {
  kube::ApiClient api(http, clock,
                      {.limit = {},
                       .deadline = std::chrono::milliseconds(10),
                       .longest_pause = std::chrono::milliseconds(100)});
  begin(api);
  REQUIRE(run_until([&] { return membership.has_value(); }));
  CHECK(membership->ok());
  CHECK(log.lines.size() == 1);
}

TEST_CASE_FIXTURE(BusyServer, "whoever is told to end in such a pause ends at once") {
  kube::ApiClient api(http, clock, {.limit = {}});
  pause = std::chrono::seconds(30);
  begin(api);
  REQUIRE(run_until([&] { return log.has("asks for a pause"); }));
  tasks.cancel();
  REQUIRE(run_until([&] { return tasks.running() == 0; }));
  REQUIRE(membership.has_value());
  CHECK(membership->error().code() == ErrorCode::kCancelled);
  CHECK(log.lines.size() == 1);
}

TEST_CASE_FIXTURE(BusyServer, "a server that cannot be reached is not asked again") {
  kube::ApiClient api(http, clock, {.limit = {}});
  http.answer = [](const kube::HttpRequest&) -> Result<kube::HttpResponse> {
    return Error(ErrorCode::kUnavailable, "connection refused");
  };
  begin(api);
  REQUIRE(run_until([&] { return membership.has_value(); }));
  CHECK(membership->error().code() == ErrorCode::kUnavailable);
  CHECK(http.seen.size() == 1);
}

}  // namespace flexlocal::provisioner::test
