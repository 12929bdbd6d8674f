// A claim's volume is made by several tries: what an earlier one may have left.
#include "provisioner/agent/claim_worker.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kCreate = "POST " + kVolumes;
const std::string kGet = "GET " + kVolumePath;

struct Fixture : NodeLab {
  ClaimWorker worker{parts};

  Fixture() {
    know_class();
    know_claim(sample_claim());
    // Refused, and nobody knows whether one before it was.
    answers[kCreate] = {{403, refused("Forbidden")}};
  }
  Status work() { return wait_for(worker.work("shop/data")); }
  bool is_promised() const { return storage.promised.contains("pvc-" + kUid); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a refused create takes the promise back, unless the object is there") {
  answers[kGet] = {{404, refused("NotFound")}};
  CHECK_FALSE(work().ok());
  CHECK_FALSE(is_promised());
  answers[kGet] = {{200, volume_text(sample_spec(), "Pending")}};
  CHECK_FALSE(work().ok());
  CHECK(is_promised());
}

TEST_CASE_FIXTURE(Fixture, "a promise stays where nobody says whether the object is there") {
  answers[kGet] = {{500, "{}"}};
  CHECK_FALSE(work().ok());
  CHECK(is_promised());
}

TEST_CASE_FIXTURE(Fixture, "what an earlier try made is promised as its object says") {
  engine::VolumeSpec earlier = sample_spec();
  earlier.pool = "fast";
  earlier.on_delete = engine::OnDelete::kZero;
  answers[kCreate] = {{409, refused("AlreadyExists")}};
  answers[kGet] = {{200, volume_text(earlier, "Pending")}};
  CHECK(work().ok());
  REQUIRE(storage.last_promise.has_value());
  CHECK(storage.last_promise->pool == "fast");
  CHECK(storage.last_promise->on_delete == engine::OnDelete::kZero);
}

}  // namespace flexlocal::provisioner::test
