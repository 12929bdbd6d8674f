// What the workers count, and whom their log lines name.
#include "provisioner/work/work_metrics.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  kube::Metrics metrics;
  ClaimWorker claim_worker{parts};
  VolumeWorker volume_worker{parts};
  const std::string volume = "pvc-" + kUid;
  const std::string class_name = sample_claim().storage_class;

  Fixture() {
    parts.work.show_in(metrics);
    know_class();
    know_claim(sample_claim());
    answers["POST " + kVolumes] = {{201, volume_text(sample_spec(), "Pending")}};
  }
  Status provision() { return wait_for(claim_worker.work("shop/data")); }
  Result<Pass> reclaim() { return wait_for(volume_worker.work(volume)); }
  void have_released() {
    const std::string text = volume_text(sample_spec(), "Released");
    know_volume(text);
    answers["GET " + kVolumePath] = {{200, text}};
    answers["DELETE " + kVolumePath] = {{200, text}};
  }
  // The value of a metric with the labels of this class; -1 when it is not shown.
  double value(const std::string& name, const std::string& more = {}) const {
    const std::string text = metrics.text();
    const std::string start = concat('\n', name, "{class=\"", class_name, '"', more, "} ");
    const std::size_t at = text.find(start);
    return at == std::string::npos ? -1 : std::stod(text.substr(at + start.size()));
  }
  double provisioned(const std::string& what) const {
    return value("controller_persistentvolumeclaim_provision_" + what, ",source=\"\"");
  }
  double removed(const std::string& what) const {
    return value("controller_persistentvolume_delete_" + what);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim that waits for its mark is no failed try") {
  Claim claim = sample_claim();
  claim.marked = false;
  know_claim(claim);
  storage.free() = kMiB;
  CHECK(provision().ok());
  CHECK(provisioned("failed_total") <= 0);
  claim.marked = true;
  know_claim(claim);
  CHECK(provision().ok());
  CHECK(provisioned("failed_total") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a provisioned claim is counted once, with its time") {
  CHECK(provision().ok());
  CHECK(provision().ok());  // nothing is left to do
  CHECK(provisioned("total") == 1);
  CHECK(provisioned("duration_seconds_count") == 1);
  CHECK(provisioned("failed_total") == -1);
  CHECK(log.has("msg=\"volume provisioned\" namespace=shop claim=data volume=" + volume));
}

TEST_CASE_FIXTURE(Fixture, "each failed try is counted, and a claim handed back is one") {
  answers["POST " + kVolumes] = {{500, "{}"}, {201, volume_text(sample_spec(), "Pending")}};
  CHECK_FALSE(provision().ok());
  CHECK(provisioned("failed_total") == 1);
  storage.free() = Bytes(0);
  ledger.forget();
  CHECK(provision().ok());
  CHECK(provisioned("failed_total") == 2);
  CHECK(provisioned("total") == -1);
  CHECK(log.has("msg=\"claim handed back\" namespace=shop claim=data volume=" + volume));
}

TEST_CASE_FIXTURE(Fixture, "a refused claim is counted as failed, a conflict is not") {
  Claim wrong = sample_claim();
  wrong.requested = "a lot";
  know_claim(wrong);
  CHECK_FALSE(provision().ok());
  CHECK(provisioned("failed_total") == 1);
  know_claim(sample_claim());
  answers["POST " + kVolumes] = {{409, refused("Conflict")}};
  CHECK_FALSE(provision().ok());
  CHECK(provisioned("failed_total") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a removal is counted when the volume is gone, from its first slice") {
  have_released();
  storage.slices = {{false, kGiB, kGiB + kGiB}};
  CHECK(reclaim().ok());
  CHECK(removed("total") == -1);
  manual.advance(std::chrono::minutes(2));
  CHECK(reclaim().ok());
  CHECK(removed("total") == 1);
  CHECK(removed("duration_seconds_sum") == 120);
  CHECK(log.has("msg=\"volume reclaimed\" namespace=shop claim=data volume=" + volume));
  CHECK(log.has("msg=wiping namespace=shop claim=data volume=" + volume));
}

TEST_CASE_FIXTURE(Fixture, "a removal that fails is counted, and its time goes on") {
  have_released();
  storage.remove_status = Error(ErrorCode::kBusy, "open");
  CHECK_FALSE(reclaim().ok());
  CHECK(removed("failed_total") == 1);
  manual.advance(std::chrono::seconds(5));
  storage.remove_status = Status();
  CHECK(reclaim().ok());
  CHECK(removed("total") == 1);
  CHECK(removed("duration_seconds_sum") == 5);
}

}  // namespace flexlocal::provisioner::test
