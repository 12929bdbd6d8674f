// What the pieces of the cluster role use, on a fake API server, whose calls are in one journal:
// "GET /api/v1/nodes/node-a".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/controller/view/cluster_view.h"
#include "provisioner/controller/view/cluster_work.h"
#include "provisioner/controller/view/event_reporter.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

inline const std::string kNodePath = "/api/v1/nodes/" + kNode;
inline const std::string kLeasePath =
    "/apis/coordination.k8s.io/v1/namespaces/beats/leases/node-" + kNode;
inline const std::string kClaimPath = "/api/v1/namespaces/shop/persistentvolumeclaims/data";
inline const std::string kVolumePath = "/api/v1/persistentvolumes/pvc-" + kUid;

struct ClusterLab : kube::test::Lab {
  std::vector<std::string> journal;
  kube::test::FakeHttp http;
  kube::test::ManualClock manual;
  kube::ApiClient api{http, clock, kube::ApiOptions{.limit = {}}};
  kube::EventRecorder events{api, manual, log, {"flexlocal.io", ""}};
  kube::Informer<Claim> claims{api, log, {"claims", "/c", "", ""}, decode_open_claim};
  kube::Informer<Volume> volumes{api, log, {"volumes", "/v", "", ""}, decode_volume};
  kube::Informer<StorageClass> classes{api, log, {"classes", "/s", "", ""}, decode_storage_class};
  kube::Informer<Node> nodes{api, log, {"nodes", "/n", "", ""}, decode_node};
  kube::Informer<NodeHeartbeat> beats{api, log, {"leases", "/l", "", ""}, decode_heartbeat};
  kube::Informer<VolumeCopy> copies{api, log, {"copies", "/k", "", ""}, decode_copy};
  NodeCache node_cache{nodes, beats, manual, "beats"};
  CopyIndex index{copies, manual};
  ClusterWork work;
  ClusterView view{claims, volumes, classes, node_cache, index};

  // The next answers to each "METHOD path", the last of them for ever; 200 and "{}" otherwise.
  struct Answer {
    int status = 200;
    std::string body = "{}";
  };
  std::map<std::string, std::vector<Answer>> answers;
  std::map<std::string, ErrorCode> broken;  // no answer at all

  ClusterLab() {
    http.answer = [this](const kube::HttpRequest& request) -> Result<kube::HttpResponse> {
      const std::string call = concat(to_string(request.method), ' ', request.target);
      if (!request.target.ends_with("/events")) journal.push_back(call);
      if (const auto found = broken.find(call); found != broken.end())
        return Error(found->second, "no answer");
      auto& script = answers[call];
      const Answer now = script.empty() ? Answer{} : script.front();
      if (script.size() > 1) script.erase(script.begin());
      return kube::HttpResponse{.status = now.status, .body = now.body, .retry_after = {}};
    };
  }

  EventReporter reporter() { return {events, manual}; }

  static std::string next_version() {
    static int version = 1'000'000;
    return concat(++version);
  }
  static std::string node_text(bool ready = true) {
    return concat(R"({"metadata":{"name":")", kNode, R"(","resourceVersion":")", next_version(),
                  R"("},"status":{"conditions":[{"type":"Ready","status":")",
                  ready ? "True" : "False", R"("}]}})");
  }
  // A node daemon's Lease, renewed at that second, with so much room in pool "default".
  static std::string lease_text(int renewed, Bytes free = kGiB) {
    kube::Lease lease;
    lease.namespace_name = "beats";
    lease.name = heartbeat_name(kNode);
    NodeReport report;
    report.pools["default"]["lvm"] = {kGiB, free};
    write_heartbeat({kNode, "u", kNode}, report, Clock::Wall(std::chrono::seconds(renewed)), lease);
    lease.resource_version = next_version();
    return encode_lease(lease);
  }
  static std::string refused(std::string_view reason) {
    return concat(R"({"kind":"Status","reason":")", reason, R"(","message":"no"})");
  }
  static Answer missing() { return {404, R"({"kind":"Status","reason":"NotFound"})"}; }

  template <typename T>
  static void put(kube::Informer<T>& informer, const std::string& text) {
    const auto document = JsonDocument::parse(text);
    REQUIRE(document.ok());
    informer.put(document->root());
  }

  bool did(const std::string& call) const {
    return std::find(journal.begin(), journal.end(), call) != journal.end();
  }
  // All events that were recorded, as they are written.
  std::string events_written() {
    events.shut_down();
    tasks.spawn(events.run());
    REQUIRE(run_until([this] { return tasks.running() == 0; }));
    std::string bodies;
    for (const kube::HttpRequest& request : http.seen)
      if (request.target.find("/events") != std::string::npos) bodies += request.body + '\n';
    return bodies;
  }
};

}  // namespace flexlocal::provisioner::test
