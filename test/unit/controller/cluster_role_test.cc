#include "provisioner/controller/cluster_role.h"

#include "test/unit/controller/cluster_lab.h"
#include "test/unit/kube/byte_sink.h"

namespace flexlocal::provisioner::test {
namespace {

using kube::HttpRequest;
using kube::HttpResponse;
using kube::Method;

// One page of each kind; watches bring nothing and never end.
struct QuietServer final : kube::Http {
  std::vector<std::string> claims, volumes, nodes, leases, journal;
  std::string denied;  // a list that is refused
  bool hangs_on_write = false;
  kube::Condition never;

  static std::string page(const std::vector<std::string>& items) {
    return concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", join(items, ","), "]}");
  }
  HttpResponse get(const std::string& target) const {
    const auto asks_for = [&](std::string_view piece) {
      return target.find(piece) != std::string::npos;
    };
    if (!denied.empty() && asks_for(denied)) return {403, "{}", {}};
    if (asks_for("/nodes/")) return {404, "{}", {}};
    if (asks_for("/persistentvolumeclaims")) return {200, page(claims), {}};
    if (asks_for("/persistentvolumes")) return {200, page(volumes), {}};
    if (asks_for("/nodes?")) return {200, page(nodes), {}};
    if (asks_for("/leases?")) return {200, page(leases), {}};
    return {200, page({}), {}};
  }
  kube::Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    if (request.method == Method::kGet) co_return get(request.target);
    journal.push_back(concat(to_string(request.method), ' ', request.target));
    if (hangs_on_write) {
      const Status waited = co_await never.wait();
      if (!waited) co_return waited.error();
    }
    co_return HttpResponse{.status = 200, .body = "{}", .retry_after = {}};
  }
  kube::Task<Result<HttpResponse>> stream(const HttpRequest& request,
                                          kube::ByteSink& sink) override {
    if (!request.trickles) {
      auto response = co_await send(request);
      co_return kube::test::deliver(std::move(response), sink);
    }
    if (request.target.find("sendInitialEvents") != std::string::npos)
      co_return HttpResponse{.status = 422, .body = "{}", .retry_after = {}};
    Status waited;
    while (waited) waited = co_await never.wait();
    co_return waited.error();
  }
};

struct Fixture : kube::test::Lab {
  QuietServer server;
  kube::ApiClient api{server, clock, kube::ApiOptions{.limit = {}}};
  ClusterWork work;
  bool put_back = false;
  std::unique_ptr<ClusterRole> role;
  kube::TaskGroup term{io};
  bool ended = false;

  ~Fixture() {
    term.cancel();
    run_until([this] { return term.running() == 0; });
  }
  static kube::Task<void> run(ClusterRole& role, bool& ended) {
    co_await role.run();
    ended = true;
  }
  void start() {
    ClusterRoleOptions options;
    options.namespace_name = "ns";
    options.lease_namespace = "beats";
    options.scope = Scope::kAbsentNodes;
    options.scan_interval = std::chrono::milliseconds(1);
    options.retry = {std::chrono::milliseconds(1), std::chrono::milliseconds(5)};
    role = std::make_unique<ClusterRole>(io, api, clock, log, options, work, put_back);
    term.spawn(run(*role, ended));
  }
  bool has_ended() {
    return run_until([this] { return ended && term.running() == 0; });
  }
  bool did(const std::string& call) const {
    return std::find(server.journal.begin(), server.journal.end(), call) != server.journal.end();
  }
};

// "leases" of "/leases?".
std::string kind_of(const std::string& path) { return path.substr(1, path.find_last_not_of('?')); }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim that waited for a lost node before the term is looked after") {
  server.claims = {claim_text(sample_claim())};
  start();
  CHECK(run_until([&] { return did("PATCH " + kClaimPath); }));
  role->stop();
  CHECK(has_ended());
}

TEST_CASE_FIXTURE(Fixture, "a node whose daemon was there before the term is labelled") {
  server.nodes = {ClusterLab::node_text()};
  server.leases = {ClusterLab::lease_text(1)};
  start();
  CHECK(run_until([&] { return did("PATCH " + kNodePath); }));
  role->stop();
  CHECK(has_ended());
}

TEST_CASE_FIXTURE(Fixture, "nothing is decided while one list is missing") {
  server.claims = {claim_text(sample_claim())};
  for (const char* missing : {"/persistentvolumes?", "/storageclasses", "/nodes?", "/leases"}) {
    server.denied = missing;
    start();
    CHECK(run_until([&] { return log.has("list failed"); }));
    settle();
    CHECK_FALSE(did("PATCH " + kClaimPath));
    REQUIRE_FALSE(role->readiness());
    CHECK(role->readiness().error().message().find(kind_of(missing)) != std::string::npos);
    role->stop();
    CHECK(has_ended());
    ended = false;
    log.lines.clear();
  }
}

TEST_CASE_FIXTURE(Fixture, "a leader that is one no longer drops what it does and ends") {
  server.claims = {claim_text(sample_claim())};
  server.hangs_on_write = true;
  start();
  REQUIRE(run_until([&] { return did("PATCH " + kClaimPath); }));
  term.cancel();
  CHECK(has_ended());
}

TEST_CASE_FIXTURE(Fixture, "told to stop, it finishes what is begun") {
  server.claims = {claim_text(sample_claim())};
  server.hangs_on_write = true;
  start();
  REQUIRE(run_until([&] { return did("PATCH " + kClaimPath); }));
  role->stop();
  settle();
  CHECK_FALSE(ended);
  server.hangs_on_write = false;
  server.never.notify_all();
  CHECK(has_ended());
  CHECK(did("POST /api/v1/namespaces/shop/events"));
}

}  // namespace flexlocal::provisioner::test
