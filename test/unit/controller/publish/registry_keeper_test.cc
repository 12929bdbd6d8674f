#include "provisioner/controller/publish/registry_keeper.h"

#include <memory>

#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

// An API server with one version of storage.k8s.io, without streaming lists; its watches bring
// nothing and never end.
struct StorageServer final : kube::Http {
  std::string version = "v1beta1";
  bool has_capacities = true;
  std::string refused;  // a list that is, while so often
  int refusals = 0;
  std::string capacity;  // the only one; nothing: there is none
  std::vector<std::string> journal;
  kube::Condition never;

  bool is_there(const std::string& target) const {
    return target.starts_with("/apis/storage.k8s.io/v1/csidrivers?") ||
           target.starts_with(
               concat("/apis/storage.k8s.io/", version, "/namespaces/ns/csistoragecapacities?"));
  }
  bool is_refused(const std::string& target) {
    if (refused.empty() || target.find(refused) == std::string::npos || refusals == 0) return false;
    --refusals;
    return true;
  }
  kube::HttpResponse answer(const kube::HttpRequest& request) {
    const std::string storage = concat("/apis/storage.k8s.io/", version);
    if (request.target == storage)
      return {
          200, has_capacities ? R"({"resources":[{"name":"csistoragecapacities"}]})" : "{}", {}};
    if (is_refused(request.target)) return {403, "{}", {}};
    if (request.method == kube::Method::kGet && is_there(request.target))
      return {200, concat(R"({"metadata":{"resourceVersion":"1"},"items":[)", capacity, "]}"), {}};
    if (request.method == kube::Method::kDelete)
      return {409, R"({"kind":"Status","reason":"Conflict"})", {}};
    if (request.method == kube::Method::kPost)
      return {201, with(driver_json(), R"("name":")", R"("resourceVersion":"2","name":")"), {}};
    return {404, R"({"kind":"Status","reason":"NotFound"})", {}};
  }
  kube::Task<Result<kube::HttpResponse>> send(const kube::HttpRequest& request) override {
    journal.push_back(concat(to_string(request.method), ' ', request.target));
    co_return answer(request);
  }
  kube::Task<Result<kube::HttpResponse>> stream(const kube::HttpRequest& request,
                                                kube::ByteSink& sink) override {
    if (request.target.find("sendInitialEvents") != std::string::npos)
      co_return kube::HttpResponse{.status = 422, .body = "{}", .retry_after = {}};
    if (!request.trickles) {
      auto response = co_await send(request);
      co_return kube::test::deliver(std::move(response), sink);
    }
    Status waited;
    while (waited && is_there(request.target)) waited = co_await never.wait();
    if (!waited) co_return waited.error();
    co_return kube::HttpResponse{.status = 404, .body = "{}", .retry_after = {}};
  }
};

// Nobody keeps it.
const std::string kForgotten =
    R"({"metadata":{"name":"old","uid":"u","resourceVersion":"1",)"
    R"("labels":{"flexlocal.io/node":"gone"}},"storageClassName":"gone"})";

struct Fixture : ClusterLab {
  StorageServer server;
  kube::ApiClient of_server{server, clock, kube::ApiOptions{.limit = {}}};
  RegistryOptions options{.namespace_name = "ns", .interval = std::chrono::milliseconds(1)};
  bool synced = true;
  bool ended = false;
  DriverRegistrar registrar{of_server, events, log};
  CapacitySweeper sweeper{of_server, view, nullptr, log};
  std::unique_ptr<RegistryKeeper> keeper;

  static kube::Task<void> run(RegistryKeeper& keeper, bool& ended) {
    co_await keeper.run();
    ended = true;
  }
  void start() {
    keeper = std::make_unique<RegistryKeeper>(
        io, of_server, registrar, sweeper, [this] { return synced; }, options, log);
    tasks.spawn(run(*keeper, ended));
  }
  bool stop() {
    tasks.cancel();
    return run_until([this] { return ended; });
  }
  std::ptrdiff_t asked(std::string_view piece) const {
    return std::count_if(
        server.journal.begin(), server.journal.end(),
        [&](const std::string& call) { return call.find(piece) != std::string::npos; });
  }
};

}  // namespace

// Each pass over them would remove the one that nobody keeps, and never can.
TEST_CASE_FIXTURE(Fixture, "what is there is read once, however often it is looked at") {
  server.capacity = kForgotten;
  start();
  REQUIRE(run_until([&] { return asked("DELETE ") == 3; }));
  CHECK(asked("GET ") == 4);  // of which two are for the version
  CHECK(asked("/namespaces/ns/csistoragecapacities?labelSelector=flexlocal.io%2Fnode") == 1);
  CHECK(asked("/csidrivers?fieldSelector=metadata.name%3Dflexlocal.io") == 1);
  CHECK(asked("POST ") == 1);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture,
                  "a list that cannot be read is told of, and does not hold up the other") {
  server.refused = "/csistoragecapacities?";
  server.refusals = 1000;
  start();
  CHECK(run_until([&] { return asked("POST ") == 1; }));
  CHECK(run_until([&] { return log.has("the list of csistoragecapacities cannot be read"); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "a list that failed once does not cost a whole interval") {
  options.interval = std::chrono::hours(1);
  server.refused = "/csidrivers?";
  server.refusals = 1;
  start();
  CHECK(run_until([&] { return asked("POST ") == 1; }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "left to the administrator, the CSIDriver is not even asked for") {
  options.register_driver = false;
  server.capacity = kForgotten;
  start();
  CHECK(run_until([&] { return asked("DELETE ") == 2; }));
  CHECK(asked("csidrivers") == 0);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "nothing is asked for before it is known what somebody keeps") {
  synced = false;
  start();
  settle();
  CHECK(server.journal.empty());
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "where there is no CSIStorageCapacity no driver is made") {
  server.has_capacities = false;
  start();
  REQUIRE(run_until([&] { return log.has("this API server has no CSIStorageCapacity"); }));
  settle();
  CHECK(asked("csidrivers") == 0);
  CHECK(stop());
}

TEST_CASE_FIXTURE(Fixture, "objects that are of another version from now on are found again") {
  start();
  REQUIRE(run_until([&] { return asked("/v1beta1/namespaces/ns/csistoragecapacities") == 1; }));
  server.version = "v1";
  server.never.notify_all();
  CHECK(run_until([&] { return asked("/v1/namespaces/ns/csistoragecapacities") == 1; }));
  CHECK(stop());
}

}  // namespace flexlocal::provisioner::test
