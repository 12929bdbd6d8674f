#include "provisioner/controller/ends/lost_volume_worker.h"

#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::minutes;

const std::string kDelete = "DELETE " + kVolumePath;
const std::string kVolumePatch = "PATCH " + kVolumePath;

struct Fixture : ClusterLab {
  std::unique_ptr<NodeAbsence> absence;
  std::unique_ptr<LostVolumeReport> report;
  std::unique_ptr<LostVolumeWorker> worker;

  Fixture() {
    answers["GET " + kNodePath] = {missing()};
    begin(NodeDeletePolicy::kDelete);
    know("Released");
  }
  void begin(NodeDeletePolicy policy) {
    worker.reset();
    absence = std::make_unique<NodeAbsence>(api, node_cache, manual, minutes(10));
    report = std::make_unique<LostVolumeReport>(reporter(), log, ClusterLab::work);
    worker = std::make_unique<LostVolumeWorker>(api, view, *absence, *report, policy);
  }
  void know(const std::string& phase) {
    const std::string text = volume_text(sample_spec(), phase);
    put(volumes, text);
    answers["GET " + kVolumePath] = {{200, text}};
    answers[kDelete] = {{200, text}};
  }
  void work(minutes after = minutes(0)) {
    manual.advance(after);
    CHECK(wait_for(worker->work("pvc-" + kUid)).ok());
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a released volume of a deleted node goes after the grace, not before") {
  work();
  work(minutes(9));
  CHECK(journal == std::vector<std::string>{"GET " + kNodePath});
  work(minutes(1));
  CHECK(journal == std::vector<std::string>{"GET " + kNodePath, "GET " + kNodePath,
                                            "GET " + kNodePath, "GET " + kVolumePath, kDelete,
                                            kVolumePatch});
}

TEST_CASE_FIXTURE(Fixture,
                  "a node that is there again, if only for the last question, keeps its volumes") {
  answers["GET " + kNodePath] = {missing(), missing(), {200, node_text()}};
  work();
  work(minutes(10));
  CHECK_FALSE(did(kDelete));
  work(minutes(60));
  CHECK_FALSE(did(kDelete));
}

TEST_CASE_FIXTURE(Fixture, "an API server that does not answer is no proof that a node is gone") {
  answers["GET " + kNodePath] = {missing(), {500, "{}"}};
  work();
  manual.advance(minutes(10));
  CHECK_FALSE(wait_for(worker->work("pvc-" + kUid)).ok());
  CHECK_FALSE(did(kDelete));
}

TEST_CASE_FIXTURE(Fixture, "what the API server says of the volume at the last moment counts") {
  answers["GET " + kVolumePath] = {{200, volume_text(sample_spec(), "Bound")}};
  work();
  work(minutes(10));
  CHECK(did("GET " + kVolumePath));
  CHECK_FALSE(did(kDelete));
}

TEST_CASE_FIXTURE(Fixture, "by default the administrator is told, hourly, and nothing is touched") {
  begin(NodeDeletePolicy::kReport);
  work();
  work(minutes(10));
  work(minutes(10));
  work(minutes(60));
  CHECK_FALSE(did(kDelete));
  CHECK_FALSE(did(kVolumePatch));
  CHECK(std::count_if(log.lines.begin(), log.lines.end(), [](const std::string& line) {
          return line.find("PersistentVolume of a deleted node") != std::string::npos;
        }) == 2);
  CHECK(events_written().find("NodeDeleted") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a bound volume's claim is told, and stays") {
  know("Bound");
  work();
  work(minutes(10));
  CHECK_FALSE(did(kDelete));
  const std::string written = events_written();
  CHECK(written.find(R"("kind":"PersistentVolumeClaim")") != std::string::npos);
  CHECK(written.find("delete the claim and its pods") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
