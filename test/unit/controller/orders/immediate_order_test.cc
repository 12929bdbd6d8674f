#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

// Two nodes, of which the first has more room, and a claim that nobody chooses a node for.
struct Fixture : OrderLab {
  Fixture() {
    put(classes, with(class_text(), "WaitForFirstConsumer", "Immediate"));
    know_node(kOtherNode, Bytes(5 * kGiB.count()));
    Claim claim = sample_claim();
    claim.selected_node.clear();
    know_claim(claim);
  }
  std::string did() {
    const auto worked = wait_for(orders.work("shop/data"));
    REQUIRE_MESSAGE(worked, worked.error().message());
    return server.done();
  }
  // The order that is to serve.
  VolumeCopy serving() {
    for (const std::string& path : server.paths(copies_path())) {
      auto found = decode_copy(parsed(server.text(path)).root());
      if (found->order->desired == DesiredState::kServing) return *found;
    }
    FAIL("no order is to serve");
    return copy();
  }
  void answer_serving(CopyState state) {
    const VolumeCopy known = serving();
    CopyStatus status = known.status;
    status.state = state;
    OrderLab::answer(known, status);
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an Immediate claim costs the same two writes, and none of its own") {
  CHECK(did() == "POST volumecopies");
  CHECK(order().node == kNode);
  CHECK(did() == "");
  answer(CopyState::kPromised);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().node == kNode);
  CHECK(claim_there().selected_node.empty());
}

TEST_CASE_FIXTURE(Fixture, "an Immediate claim that one node refused gets its order on another") {
  CHECK(did() == "POST volumecopies");
  answer(CopyState::kRefused, "the pool is full");
  CHECK(did() == "PATCH volumecopies");
  // The first node has not even ended its order: it may never.
  CHECK(did() == "POST volumecopies");
  CHECK(serving().order->node == kOtherNode);
  answer_serving(CopyState::kPromised);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().node == kOtherNode);
  CHECK(event_says("node node-a cannot have the volume: the pool is full; another node"));
}

TEST_CASE_FIXTURE(Fixture, "a silent node keeps no Immediate claim") {
  CHECK(did() == "POST volumecopies");
  pass(kOrderTimeout);
  CHECK(did() == "PATCH volumecopies");
  CHECK(did() == "POST volumecopies");
  CHECK(serving().order->node == kOtherNode);
}

TEST_CASE_FIXTURE(Fixture,
                  "a node that has not ended a volume's earlier copy is not chosen for it") {
  CHECK(did() == "POST volumecopies");
  // A promise that could not be kept: later orders of others may well find room there.
  VolumeCopy known = copy();
  known.status.state = CopyState::kPromised;
  OrderLab::answer(known, known.status);
  known = copy();
  known.status.state = CopyState::kRefused;
  OrderLab::answer(known, known.status);
  CHECK(did() == "GET persistentvolumes, PATCH volumecopies");
  put(nodes, server.patch(node_path(kOtherNode), R"({"spec":{"unschedulable":true}})"));
  pass(seconds(31));
  CHECK(did() == "");
  CHECK(copy_count() == 1);
  answer(CopyState::kRemoved);
  pass(seconds(31));
  CHECK(did() == "POST volumecopies");
}

TEST_CASE_FIXTURE(Fixture, "an Immediate claim is not given an order where that is switched off") {
  const OrderPlanner nobody{view, desk, roll, ImmediateBinding::kOff};
  OrderWorker off{view, nobody, orderer, claim_binder, assigner, report};
  CHECK(wait_for(off.work("shop/data")).ok());
  CHECK(server.done() == "");
  CHECK(copy_count() == 0);
}

TEST_CASE_FIXTURE(Fixture, "an Immediate claim waits for kube-controller-manager to mark it") {
  Claim claim = sample_claim();
  claim.selected_node.clear();
  claim.marked = false;
  know_claim(claim);
  CHECK(did() == "");
  CHECK(copy_count() == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "of two leaders' orders for one Immediate claim the promised one is bound") {
  CopyOrder first = sample_order();
  know_copy(first);
  CopyOrder second = sample_order();
  second.volume.copy = "fedcba9876543210";
  second.node = kOtherNode;
  know_copy(second);
  VolumeCopy promised = *index.find(volume, second.volume.copy);
  promised.status.state = CopyState::kPromised;
  OrderLab::answer(promised, promised.status);
  CHECK(did() == "PATCH volumecopies");
  CHECK(serving().order->node == kOtherNode);
  CHECK(did() == "POST persistentvolumes");
  CHECK(volume_there().copy == second.volume.copy);
}

}  // namespace flexlocal::provisioner::test
