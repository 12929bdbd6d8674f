#include "provisioner/objects/claim_patch.h"

#include <doctest/doctest.h>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

TEST_CASE("the choice is taken back from the version that was decided on only") {
  CHECK(patch_without_selected_node(sample_claim()) ==
        R"({"metadata":{"resourceVersion":"7","annotations":)"
        R"({"volume.kubernetes.io/selected-node":null}}})");
}

}  // namespace flexlocal::provisioner::test
