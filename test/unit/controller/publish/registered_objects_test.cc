#include "provisioner/controller/publish/capacity_sweeper.h"
#include "provisioner/controller/publish/driver_registrar.h"
#include "provisioner/objects/driver_object.h"
#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kMakeDriver = "POST /apis/storage.k8s.io/v1/csidrivers";
const std::string kFolder = "/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities";

std::string capacity(const std::string& name, const std::string& node, const std::string& of) {
  return concat(R"({"metadata":{"name":")", name, R"(","uid":"uid-of-)", name,
                R"(","resourceVersion":"5","labels":{"flexlocal.io/node":")", node,
                R"("}},"storageClassName":")", of, R"("})");
}
std::string removal(const std::string& name) { return concat("DELETE ", kFolder, '/', name); }

// A node whose daemon runs, a class, and a CSIDriver as it should be.
struct Fixture : ClusterLab {
  static std::string registered() {
    return with(driver_json(), R"("name":"flexlocal.io")",
                R"("name":"flexlocal.io","resourceVersion":"7")");
  }
  CapacityPlace place{"storage.k8s.io/v1", "ns", {}};
  kube::Informer<RegisteredDriver> driver{api, log, {"csidrivers", "/d", "", ""}, decode_driver};
  kube::Informer<PublishedCapacity> capacities{
      api, log, {"capacities", "/r", "", ""}, decode_capacity};
  DriverRegistrar registrar{api, events, log};
  CapacitySweeper sweeper{api, view, nullptr, log};

  Fixture() {
    put(classes, class_text());
    put(nodes, node_text());
    put(beats, lease_text(1));
    put(driver, registered());
  }
  void published(const std::vector<std::string>& objects) {
    for (const std::string& object : objects) put(capacities, object);
  }
  std::string body_of(const std::string& call) const {
    for (const kube::HttpRequest& request : http.seen)
      if (concat(to_string(request.method), ' ', request.target) == call) return request.body;
    return {};
  }
  Status look() { return wait_for(sweeper.sweep(place, capacities)); }
};

struct WithoutDriver : Fixture {
  kube::Informer<RegisteredDriver> none{api, log, {"csidrivers", "/d", "", ""}, decode_driver};
};

}  // namespace

TEST_CASE_FIXTURE(WithoutDriver, "the CSIDriver is made where there is none, and known from then") {
  answers[kMakeDriver] = {{201, registered()}};
  CHECK(wait_for(registrar.reconcile(none)).ok());
  CHECK(journal == std::vector<std::string>{kMakeDriver});
  CHECK(http.seen.front().body == driver_json());
  CHECK(wait_for(registrar.reconcile(none)).ok());
  CHECK(journal.size() == 1);
}

TEST_CASE_FIXTURE(WithoutDriver,
                  "a CSIDriver that somebody else made at that moment is no failure") {
  answers[kMakeDriver] = {{409, R"({"kind":"Status","reason":"AlreadyExists"})"}};
  CHECK(wait_for(registrar.reconcile(none)).ok());
}

TEST_CASE_FIXTURE(Fixture, "another CSIDriver is never written, and reported once") {
  put(driver, with(with(registered(), R"("storageCapacity":true)", R"("storageCapacity":false)"),
                   R"(":"7")", R"(":"8")"));
  CHECK(wait_for(registrar.reconcile(driver)).ok());
  CHECK(wait_for(registrar.reconcile(driver)).ok());
  CHECK(journal.empty());
  const std::string written = events_written();
  CHECK(std::count(written.begin(), written.end(), '\n') == 1);
  CHECK(written.find("DriverDiffers") != std::string::npos);
  CHECK(written.find("storageCapacity is not true; delete it") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "what a running daemon keeps of a class that is there stays") {
  published({capacity("kept", kNode, "local")});
  CHECK(look().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "what nobody keeps goes: of gone nodes, gone classes, silent daemons") {
  published({capacity("kept", kNode, "local"), capacity("node", "node-b", "local"),
             capacity("class", kNode, "gone")});
  CHECK(look().ok());
  CHECK(did(removal("node")));
  CHECK(did(removal("class")));
  CHECK_FALSE(did(removal("kept")));
  const std::string conditions = body_of(removal("class"));
  CHECK(conditions.find(R"("uid":"uid-of-class")") != std::string::npos);
  CHECK(conditions.find(R"("resourceVersion":"5")") != std::string::npos);
  CHECK(log.has("its StorageClass is gone"));
  manual.advance(kHeartbeatDuration + seconds(1));
  node_cache.confirm_silence(kNode);
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

}  // namespace flexlocal::provisioner::test
