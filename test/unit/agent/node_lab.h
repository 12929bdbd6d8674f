// The parts of the node role on a fake API server and fake disks. What is done to either is in one
// journal, in order: "remove pvc-...", "POST /api/v1/persistentvolumes".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "provisioner/agent/claim_worker.h"
#include "provisioner/agent/volume_worker.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

inline const std::string kVolumes = "/api/v1/persistentvolumes";
inline const std::string kVolumePath = kVolumes + "/pvc-" + kUid;
inline const std::string kClaimPath = "/api/v1/namespaces/shop/persistentvolumeclaims/data";

struct NodeLab : kube::test::Lab {
  std::vector<std::string> journal;
  kube::test::FakeHttp http;
  FakeStorage storage{journal};
  engine::NodeConfig config;
  kube::test::ManualClock manual;
  kube::ApiClient api{http, clock, kube::ApiOptions{.limit = {}}};
  kube::EventRecorder events{api, manual, log, {"flexlocal.io", kNode}};
  const ClassNames class_names{"local"};
  kube::Informer<Claim> claims{api, log, {"claims", "/c", "", ""}, [this](JsonView object) {
                                 return decode_claim_of(object, class_names);
                               }};
  kube::Informer<Volume> volumes{api, log, {"volumes", "/v", "", ""}, decode_volume};
  kube::Informer<StorageClass> classes{api, log, {"classes", "/s", "", ""}, decode_storage_class};
  Ledger ledger{storage, config, volumes, manual, kNode};
  KubeletInit kubelet_init{storage, events, manual, log, kNodeIdentity};
  NodeParts parts{api,          events, claims, volumes,       classes,  storage,      ledger,
                  kubelet_init, manual, log,    kNodeIdentity, kCluster, {kMuchMemory}};

  // The next answers to each "METHOD path", the last of them for ever; 200 and "{}" otherwise.
  struct Answer {
    int status = 200;
    std::string body = "{}";
  };
  std::map<std::string, std::vector<Answer>> answers;
  std::map<std::string, ErrorCode> broken;  // no answer at all

  NodeLab();

  static std::string refused(std::string_view reason);
  void know_volume(const std::string& text) { put(volumes, text); }
  void know_claim(const Claim& claim) { put(claims, claim_text(claim)); }
  void know_class() { put(classes, class_text()); }

  // The body of the only request of that method and path; without one the test fails.
  std::string body_of(kube::Method method, const std::string& path) const;
  // All messages of events that were recorded, as they are written.
  std::string events_written();

  template <typename T>
  static void put(kube::Informer<T>& informer, const std::string& text) {
    const auto document = JsonDocument::parse(text);
    REQUIRE(document.ok());
    informer.put(document->root());
  }

 private:
  Result<kube::HttpResponse> answer(const kube::HttpRequest& request);
};

}  // namespace flexlocal::provisioner::test
