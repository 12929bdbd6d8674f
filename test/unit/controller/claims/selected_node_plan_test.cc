#include "provisioner/controller/claims/selected_node_plan.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

TEST_CASE("only a claim without a volume waits for its node") {
  Claim claim = sample_claim();
  CHECK(waits_for_node(claim, false));
  CHECK_FALSE(waits_for_node(claim, true));
  claim.volume_name = "pvc-1";
  CHECK_FALSE(waits_for_node(claim, false));
  claim = sample_claim();
  claim.deleting = true;
  CHECK_FALSE(waits_for_node(claim, false));
  claim = sample_claim();
  claim.selected_node.clear();
  CHECK_FALSE(waits_for_node(claim, false));
}

}  // namespace flexlocal::provisioner::test
