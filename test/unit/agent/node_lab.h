// What an agent stands on: a fake API server and fake disks. What is done to either is in one
// journal, in order: "remove pvc-...", "GET /api/v1/nodes/node-a".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "provisioner/agent/kubelet_init.h"
#include "provisioner/agent/ledger.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

struct NodeLab : kube::test::Lab {
  std::vector<std::string> journal;
  kube::test::FakeHttp http;
  FakeStorage storage{journal};
  engine::NodeConfig config;
  kube::test::ManualClock manual;
  kube::ApiClient api{http, clock, kube::ApiOptions{.limit = {}}};
  kube::EventRecorder events{api, manual, log, {"flexlocal.io", kNode}};
  Ledger ledger{storage, config, manual};
  KubeletInit kubelet_init{storage, events, manual, log, kNodeIdentity};
  NodeBudget budget{kMuchMemory};

  // The next answers to each "METHOD path", the last of them for ever; 200 and "{}" otherwise.
  struct Answer {
    int status = 200;
    std::string body = "{}";
  };
  std::map<std::string, std::vector<Answer>> answers;
  std::map<std::string, ErrorCode> broken;  // no answer at all

  NodeLab();

  static std::string refused(std::string_view reason);
  // The body of the only request of that method and path; without one the test fails.
  std::string body_of(kube::Method method, const std::string& path) const;
  // All messages of events that were recorded, as they are written.
  std::string events_written();

 private:
  Result<kube::HttpResponse> answer(const kube::HttpRequest& request);
};

}  // namespace flexlocal::provisioner::test
