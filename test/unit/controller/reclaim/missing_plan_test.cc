#include "provisioner/controller/reclaim/missing_plan.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

Volume volume_of_before() {
  Volume volume = decoded_volume(volume_text(sample_spec(), "Bound"));
  volume.node_uid = "old";
  return volume;
}

bool missing(const Volume& volume, const std::string& node_uid = "new",
             const engine::Inventory& inventory = {}) {
  return is_missing(volume, kNode, node_uid, inventory);
}

}  // namespace

TEST_CASE("a bound volume of the node's predecessor that is not on the disks is missing") {
  CHECK(missing(volume_of_before()));
  engine::Inventory inventory;
  inventory.holdings = {{"pvc-" + kUid, "quota:fast", kGiB}};
  CHECK_FALSE(missing(volume_of_before(), "new", inventory));
}

TEST_CASE("a volume is not called missing unless both uids are known and differ") {
  CHECK_FALSE(missing(volume_of_before(), "old"));
  CHECK_FALSE(missing(volume_of_before(), ""));
  Volume unknown = volume_of_before();
  unknown.node_uid.clear();
  CHECK_FALSE(missing(unknown));
}

TEST_CASE("a volume of another node, or one that nobody is bound to, is not missed") {
  for (const char* phase : {"Pending", "Released", "Failed", ""}) {
    Volume volume = volume_of_before();
    volume.phase = phase;
    CHECK_FALSE(missing(volume));
  }
  Volume elsewhere = volume_of_before();
  elsewhere.node = "node-b";
  CHECK_FALSE(missing(elsewhere));
}

}  // namespace flexlocal::provisioner::test
