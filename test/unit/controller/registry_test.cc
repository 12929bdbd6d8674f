#include "provisioner/controller/registry.h"

#include "provisioner/objects/driver_object.h"
#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kDiscovery = "GET /apis/storage.k8s.io/v1";
const std::string kDrivers = "/apis/storage.k8s.io/v1/csidrivers";
const std::string kGetDriver = "GET " + kDrivers + "/flexlocal.io";
const std::string kMakeDriver = "POST " + kDrivers;
const std::string kFolder = "/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities";
const std::string kList = "GET " + kFolder + "?labelSelector=flexlocal.io%2Fnode&limit=500";

std::string capacity(const std::string& name, const std::string& node, const std::string& of) {
  return concat(R"({"metadata":{"name":")", name, R"(","uid":"uid-of-)", name,
                R"(","resourceVersion":"5","labels":{"flexlocal.io/node":")", node,
                R"("}},"storageClassName":")", of, R"("})");
}
std::string removal(const std::string& name) { return concat("DELETE ", kFolder, '/', name); }

// A node whose daemon runs, a class, and a CSIDriver as it should be.
struct Fixture : ClusterLab {
  Registry registry{parts, nullptr};

  Fixture() {
    put(classes, class_text());
    put(nodes, node_text());
    put(beats, lease_text(1));
    answers[kDiscovery] = {{200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
    answers[kGetDriver] = {{200, driver_json()}};
    published({});
  }
  void published(const std::vector<std::string>& objects) {
    answers[kList] = {{200, concat(R"({"metadata":{"resourceVersion":"9"},"items":[)",
                                   join(objects, ","), "]}")}};
  }
  Status look() { return wait_for(registry.look()); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the CSIDriver is made where there is none, and looked after") {
  answers[kGetDriver] = {missing()};
  answers[kMakeDriver] = {{201, driver_json()}};
  CHECK(look().ok());
  CHECK(journal == std::vector<std::string>{kDiscovery, kGetDriver, kMakeDriver, kList});
  CHECK(http.seen[2].body == driver_json());
}

TEST_CASE_FIXTURE(Fixture, "a CSIDriver that somebody else made at that moment is no failure") {
  answers[kGetDriver] = {missing()};
  answers[kMakeDriver] = {{409, R"({"kind":"Status","reason":"AlreadyExists"})"}};
  CHECK(look().ok());
}

TEST_CASE_FIXTURE(Fixture, "another CSIDriver is never written, and reported once") {
  answers[kGetDriver] = {
      {200, with(driver_json(), R"("storageCapacity":true)", R"("storageCapacity":false)")}};
  CHECK(look().ok());
  CHECK(look().ok());
  for (const std::string& call : journal) CHECK(call.starts_with("GET "));
  const std::string written = events_written();
  CHECK(std::count(written.begin(), written.end(), '\n') == 1);
  CHECK(written.find("DriverDiffers") != std::string::npos);
  CHECK(written.find("storageCapacity is not true; delete it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "left to the administrator, the CSIDriver is not even asked for") {
  parts.options.register_driver = false;
  CHECK(look().ok());
  CHECK(journal == std::vector<std::string>{kDiscovery, kList});
}

TEST_CASE_FIXTURE(Fixture, "where there is no CSIStorageCapacity no driver is made") {
  for (const std::string version : {"v1", "v1beta1", "v1alpha1"})
    answers["GET /apis/storage.k8s.io/" + version] = {missing()};
  CHECK(look().ok());
  CHECK(journal.size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "what a running daemon keeps of a class that is there stays") {
  published({capacity("kept", kNode, "local")});
  CHECK(look().ok());
  CHECK(journal.back() == kList);
}

TEST_CASE_FIXTURE(Fixture, "what nobody keeps goes: of gone nodes, gone classes, silent daemons") {
  published({capacity("kept", kNode, "local"), capacity("node", "node-b", "local"),
             capacity("class", kNode, "gone")});
  CHECK(look().ok());
  CHECK(did(removal("node")));
  CHECK(did(removal("class")));
  CHECK_FALSE(did(removal("kept")));
  CHECK(http.seen.back().body.find(R"("uid":"uid-of-class")") != std::string::npos);
  CHECK(http.seen.back().body.find(R"("resourceVersion":"5")") != std::string::npos);
  CHECK(log.has("its StorageClass is gone"));
  manual.advance(kHeartbeatDuration + seconds(1));
  observations.confirm_silence(kNode, manual.now());
  CHECK(look().ok());
  CHECK(did(removal("kept")));
}

TEST_CASE_FIXTURE(Fixture, "what was written meanwhile, or is gone already, is left") {
  published({capacity("a", "node-b", "local"), capacity("b", "node-b", "local")});
  answers[removal("a")] = {{409, R"({"kind":"Status","reason":"Conflict"})"}};
  answers[removal("b")] = {missing()};
  CHECK(look().ok());
  CHECK(did(removal("b")));
}

TEST_CASE_FIXTURE(Fixture,
                  "a list that fails removes nothing; one that is gone is looked for anew") {
  answers[kList] = {{500, "{}"}, {404, R"({"kind":"Status","reason":"NotFound"})"}, {500, "{}"}};
  CHECK_FALSE(look().ok());
  CHECK(std::count(journal.begin(), journal.end(), kDiscovery) == 1);
  CHECK_FALSE(look().ok());
  CHECK_FALSE(look().ok());
  CHECK(std::count(journal.begin(), journal.end(), kDiscovery) == 2);
}

}  // namespace flexlocal::provisioner::test
