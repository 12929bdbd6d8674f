#include "provisioner/controller/orders/node_chooser.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : OrderLab {
  Claim claim = sample_claim();
  Order wanted{*engine::VolumeName::of_claim(kUid), ClassParameters(), kTenGiB - kGiB};

  // One of 2 GiB that is being given.
  static CopyOrder giving(const std::string& node = kNode, const std::string& pool = "default") {
    CopyOrder order = sample_order();
    order.node = node;
    order.volume.pool = pool;
    order.volume.size = kGiB + kGiB;
    return order;
  }
  std::string objection() const {
    return chooser.objection_to(claim, wanted, *nodes.get(kNode)).value_or("none");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what is being given is not given again, and is free when it failed") {
  CHECK(objection() == "none");
  const auto entry = under_way.add(giving());
  CHECK(objection() ==
        R"(no room on node node-a: pool "default" has 8 GiB free for backend lvm, 9 GiB asked)");
  CHECK(chooser.choose(claim, wanted).empty());
  under_way.remove(entry);
  CHECK(objection() == "none");
  CHECK(chooser.choose(claim, wanted) == kNode);
}

TEST_CASE_FIXTURE(Fixture,
                  "an order that the watch has brought counts once while it is being given") {
  under_way.add(giving());
  know_copy(giving());
  wanted.requested = kTenGiB - kGiB - kGiB;
  CHECK(objection() == "none");
}

TEST_CASE_FIXTURE(Fixture, "an order counts beside the node's figures until they have it") {
  know_copy(giving());
  CHECK(objection() != "none");
  CHECK(chooser.choose(claim, wanted).empty());
  counted = {kCopy};
  beat(kNode);
  CHECK(objection() == "none");
}

TEST_CASE_FIXTURE(Fixture, "another pool's and another node's orders take none of its room") {
  under_way.add(giving(kNode, "other"));
  under_way.add(giving(kOtherNode));
  CHECK(objection() == "none");
}

TEST_CASE_FIXTURE(Fixture, "a node that refused a claim is passed over by it for a while") {
  chooser.refused(claim, kNode);
  CHECK(chooser.choose(claim, wanted).empty());
  Claim other = claim;
  other.name = "other";
  CHECK(chooser.choose(other, wanted) == kNode);
  pass(std::chrono::seconds(30));
  CHECK(chooser.choose(claim, wanted) == kNode);
  chooser.refused(claim, kNode);
  chooser.forget(claim.key());
  CHECK(chooser.choose(claim, wanted) == kNode);
}

}  // namespace flexlocal::provisioner::test
