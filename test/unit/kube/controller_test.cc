// All parts together, in the shape in which the daemon uses them.
#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/informer.h"
#include "provisioner/kube/work_queue.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

struct Claim {
  std::string name;
};

std::optional<Claim> decode_claim(JsonView object) {
  return Claim{std::string(object["metadata"]["name"].text())};
}

// Makes one volume for each claim; a conflict is tried again after the key's back-off.
struct Controller {
  ApiClient& api;
  Informer<Claim>& claims;
  WorkQueue& queue;
  EventRecorder& events;

  Task<Status> provision(const std::string& key) {
    const auto claim = claims.get(key);
    if (claim == nullptr) co_return Status();
    const std::string path = object_path("v1", "persistentvolumes", "", "");
    const std::string volume = concat(R"({"metadata":{"name":"pvc-)", claim->name, R"("}})");
    EventNote note{.object = {.kind = "PersistentVolumeClaim",
                              .namespace_name = "shop",
                              .name = claim->name,
                              .uid = {},
                              .api_version = "v1",
                              .resource_version = {}},
                   .type = EventType::kNormal,
                   .reason = "ProvisioningSucceeded",
                   .message = "made"};
    const auto made = co_await api.create(path, volume);
    if (!made && made.error().code() != ErrorCode::kExists) co_return made.error();
    events.record(std::move(note));
    co_return Status();
  }

  Task<void> work() {
    const Status synced = co_await claims.wait_synced();
    if (!synced) co_return;
    for (;;) {
      const auto key = co_await queue.get();
      if (!key) co_return;
      const Status done = co_await provision(*key);
      if (done)
        queue.forget(*key);
      else
        queue.add_rate_limited(*key);
      queue.done(*key);
    }
  }
};

// Streams a list of two claims, and leaves the watch hanging; refuses the first volume once.
struct ApiServer {
  std::vector<std::string> volumes;
  std::size_t events = 0;
  bool refused = false;

  static std::string claim(std::string_view name, int version) {
    return concat(R"({"type":"ADDED","object":{"metadata":{"namespace":"shop","name":")", name,
                  R"(","resourceVersion":")", version, R"("}}})", "\n");
  }
  Reply answer(const Seen& seen) {
    if (seen.query("sendInitialEvents") == "true")
      return stream({claim("a", 1), claim("b", 2),
                     R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9",)"
                     R"("annotations":{"k8s.io/initial-events-end":"true"}}}})"
                     "\n"},
                    Reply::End::kHang);
    if (seen.target.ends_with("/events")) {
      ++events;
      return body("{}", 201);
    }
    if (!std::exchange(refused, true)) return body("{}", 500);
    volumes.push_back(seen.body);
    return body("{}", 201);
  }
};

}  // namespace

TEST_CASE("a controller turns claims into volumes, tries failures again and shuts down in order") {
  Lab lab;
  ApiServer script;
  ScriptedServer server(lab.io, [&script](const Seen& seen) { return script.answer(seen); });
  ClusterConfig config;
  config.server = server.url();
  const auto http = std::move(*CurlHttp::make(lab.io, lab.clock, lab.log, config));
  ApiClient api(*http, lab.clock, ApiOptions{});
  WorkQueue queue(lab.clock, {milliseconds(2), milliseconds(10)});
  EventRecorder events(api, lab.clock, lab.log, {"flexlocal.io", "node-1"});
  Informer<Claim> claims(api, lab.log,
                         {"claims", object_path("v1", "persistentvolumeclaims", "", ""), "", ""},
                         decode_claim);
  claims.on_change([&queue](const std::string& key) { queue.add(key); });
  Controller controller{api, claims, queue, events};

  TaskGroup informers(lab.io);
  TaskGroup writers(lab.io);
  TaskGroup workers(lab.io);
  informers.spawn(claims.run());
  writers.spawn(events.run());
  for (int i = 0; i < 2; ++i) workers.spawn(controller.work());
  REQUIRE(lab.run_until([&] { return script.volumes.size() == 2; }));

  // What a SIGTERM leads to: no new work, what is under way ends, events are written, then the
  // watches are left.
  queue.shut_down();
  CHECK(lab.wait_for(workers.join()).ok());
  events.shut_down();
  CHECK(lab.wait_for(writers.join()).ok());
  informers.cancel();
  CHECK(lab.wait_for(informers.join()).ok());
  CHECK(script.events == 2);
  CHECK(lab.log.lines.empty());
}

}  // namespace flexlocal::kube::test
