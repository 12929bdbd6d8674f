#include "provisioner/controller/cluster_metrics.h"

#include "provisioner/controller/ends/lost_volume_worker.h"
#include "test/unit/controller/orders/pending_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : ClusterLab {
  kube::WorkQueue queue{manual, {}};

  bool shows(const std::string& line) const {
    kube::Metrics metrics;
    work.show_in(metrics);
    show_cluster(metrics, view, queue);
    const std::string text = concat('\n', metrics.text());
    return text.find(concat('\n', line, '\n')) != std::string::npos;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "nodes are shown by their daemon: it runs, it is in trouble, it is silent") {
  CHECK(shows(R"(flexlocal_nodes{daemon="absent"} 0)"));
  put(nodes, node_text());
  CHECK(shows(R"(flexlocal_nodes{daemon="absent"} 1)"));
  put(beats, lease_text(1));
  CHECK(shows(R"(flexlocal_nodes{daemon="ready"} 1)"));
  CHECK(shows(R"(flexlocal_nodes{daemon="absent"} 0)"));
  put(beats,
      with(lease_text(2), R"("flexlocal.io/ready":"true")", R"("flexlocal.io/ready":"false")"));
  CHECK(shows(R"(flexlocal_nodes{daemon="not ready"} 1)"));
  manual.advance(kHeartbeatDuration + std::chrono::seconds(1));
  node_cache.confirm_silence(kNode);
  CHECK(shows(R"(flexlocal_nodes{daemon="absent"} 1)"));
}

TEST_CASE_FIXTURE(Fixture, "a claim that is handed back is counted") {
  CHECK(shows("flexlocal_claims_handed_back_total 0"));
  put(claims, claim_text(sample_claim()));
  answers["GET " + kNodePath] = {missing()};
  PendingLab pending(*this);
  CHECK(wait_for(pending.worker.work("shop/data")).ok());
  CHECK(did("PATCH " + kClaimPath));
  CHECK(shows("flexlocal_claims_handed_back_total 1"));
}

TEST_CASE_FIXTURE(Fixture, "volumes of deleted nodes are counted, told of or let go") {
  for (const bool removes : {false, true}) {
    put(volumes, volume_text(sample_spec(), "Released"));
    answers["GET " + kNodePath] = {missing()};
    answers["GET " + kVolumePath] = {{200, volume_text(sample_spec(), "Released")}};
    answers["DELETE " + kVolumePath] = {{200, volume_text(sample_spec(), "Released")}};
    const auto grace = std::chrono::minutes(10);
    NodeAbsence absence(api, node_cache, manual, grace);
    LostVolumeReport report(reporter(), log, work);
    LostVolumeWorker worker(api, view, absence, report,
                            removes ? NodeDeletePolicy::kDelete : NodeDeletePolicy::kReport);
    CHECK(wait_for(worker.work("pvc-" + kUid)).ok());
    manual.advance(grace);
    CHECK(wait_for(worker.work("pvc-" + kUid)).ok());
  }
  CHECK(shows("flexlocal_lost_volumes_told_total 1"));
  CHECK(shows("flexlocal_lost_volumes_removed_total 1"));
}

}  // namespace flexlocal::provisioner::test
