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

TEST_CASE("what cannot be a Node's name is not asked for") {
  for (const char* name : {"node-a", "a", "10.0.0.1", "a.b-c"}) CHECK(can_be_node(name));
  for (const char* name : {"", ".", "..", "-a", "a-", "A", "a/b", "a b", "a\n", "\xc3\xa4"})
    CHECK_FALSE(can_be_node(name));
  CHECK_FALSE(can_be_node(std::string(254, 'a')));
}

}  // namespace flexlocal::provisioner::test
