#include "provisioner/agent/promise_keeper.h"

#include <algorithm>

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  PromiseKeeper keeper{parts};

  Fixture() {
    storage.present.promised = {{*engine::VolumeName::of_claim(kUid), kCluster}};
    storage.promised = {"pvc-" + kUid};
    answers["GET " + kVolumePath] = {{404, refused("NotFound")}};
  }
  Status look() { return wait_for(keeper.look()); }
  bool is_kept() const { return !storage.promised.empty(); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a promise that nobody comes for is withdrawn") {
  CHECK(look().ok());
  CHECK_FALSE(is_kept());
}

TEST_CASE_FIXTURE(Fixture, "a promise is kept for its claim, and for its PersistentVolume") {
  know_claim(sample_claim());
  CHECK(look().ok());
  CHECK(is_kept());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a PersistentVolume that the list does not have yet keeps it, too") {
  answers["GET " + kVolumePath] = {{200, volume_text(sample_spec(), "Bound")}};
  CHECK(look().ok());
  CHECK(is_kept());
}

TEST_CASE_FIXTURE(Fixture, "a promise goes once its claim has the volume on another node") {
  Claim claim = sample_claim();
  claim.selected_node = "node-b";
  know_claim(claim);
  CHECK(look().ok());
  CHECK(is_kept());  // it may be sent back before it gets one
  answers["GET " + kVolumePath] = {
      {200, with(volume_text(sample_spec(), "Bound"), R"("flexlocal.io/node":"node-a")",
                 R"("flexlocal.io/node":"node-b")")}};
  CHECK(look().ok());
  CHECK_FALSE(is_kept());
}

TEST_CASE_FIXTURE(Fixture, "a server that does not say so proves nothing") {
  answers["GET " + kVolumePath] = {{500, "{}"}};
  CHECK_FALSE(look().ok());
  CHECK(is_kept());
}

TEST_CASE_FIXTURE(Fixture, "another cluster's promise is not ours to withdraw") {
  storage.present.promised.front().cluster_id = "99999999-9999-4999-8999-999999999999";
  CHECK(look().ok());
  CHECK(is_kept());
}

}  // namespace flexlocal::provisioner::test
