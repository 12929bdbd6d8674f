#include "provisioner/controller/publish/capacity_publisher.h"

#include <list>

#include "provisioner/kube/condition.h"
#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kGroupPath = "/apis/storage.k8s.io/v1";

// Requests that wait until a test lets them go.
class HeldHttp final : public kube::Http {
 public:
  explicit HeldHttp(kube::Http& behind) : behind_(behind) {}

  struct Hold {
    std::string piece;  // of the target; the next request that has it waits
    bool taken = false;
    bool released = false;
  };
  Hold& hold_next(const std::string& piece) { return holds_.emplace_back(Hold{.piece = piece}); }
  void release(Hold& hold) {
    hold.released = true;
    changed_.notify_all();
  }

  Task<Result<kube::HttpResponse>> send(const kube::HttpRequest& request) override {
    for (Hold& hold : holds_) {
      if (hold.taken || request.target.find(hold.piece) == std::string::npos) continue;
      hold.taken = true;
      while (!hold.released) {
        auto waited = co_await changed_.wait();
        if (!waited) co_return waited.error();
      }
      break;
    }
    auto answer = co_await behind_.send(request);
    co_return answer;
  }
  Task<Result<kube::HttpResponse>> stream(const kube::HttpRequest& request,
                                          kube::ByteSink& sink) override {
    auto answer = co_await behind_.stream(request, sink);
    co_return answer;
  }

 private:
  kube::Http& behind_;
  std::list<Hold> holds_;
  kube::Condition changed_;
};

struct Fixture : OrderLab {
  HeldHttp held{http};
  kube::ApiClient held_api{held, clock, kube::ApiOptions{.limit = {}}};
  OpenClaims open{claims};
  CapacityPublisher publisher{held_api, view, open, chooser, {"ns", "flexlocal-node"}};

  Fixture() { server.put(kGroupPath, R"({"resources":[{"name":"csistoragecapacities"}]})"); }

  std::string did() {
    CHECK(wait_for(publisher.work(kNode)).ok());
    return server.done();
  }
  std::vector<std::string> told() const {
    return server.paths(kGroupPath + "/namespaces/ns/csistoragecapacities");
  }
  void wait_until_taken(const HeldHttp::Hold& hold) {
    REQUIRE(run_until([&] { return hold.taken; }));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a node's room is told once, and again when it changes") {
  CHECK(
      did() ==
      "GET storage.k8s.io, GET daemonsets, PATCH csistoragecapacities, POST csistoragecapacities");
  REQUIRE(told().size() == 1);
  CHECK(server.text(told().front()).find(R"("capacity":"10Gi")") != std::string::npos);
  CHECK(did() == "");
  know_node(kNode, kGiB);
  CHECK(did().starts_with("PATCH "));
  CHECK(server.text(told().front()).find(R"("capacity":"1Gi")") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "what is ordered is no room, until the node's figures have it") {
  CopyOrder order = sample_order();
  order.volume.size = kGiB + kGiB;
  know_copy(order);
  did();
  REQUIRE(told().size() == 1);
  CHECK(server.text(told().front()).find(R"("capacity":"8Gi")") != std::string::npos);
  counted = {kCopy};
  beat(kNode);
  did();
  CHECK(server.text(told().front()).find(R"("capacity":"10Gi")") != std::string::npos);
}

TEST_CASE_FIXTURE(
    Fixture, "a node without room for what a pod's memory makes of a claim hides it for a while") {
  Claim claim = sample_claim();
  claim.selected_node = kNode;
  std::vector<std::string> hidden;
  chooser.on_hidden([&](const std::string& node) { hidden.push_back(node); });
  const auto hide = [&](Bytes asked) {
    const Order order{*engine::VolumeName::of_claim(kUid), ClassParameters(), asked};
    chooser.hide_room(claim, order, *nodes.get(kNode));
  };
  did();
  SUBCASE("since the scheduler sees what it asks for alone") {
    hide(kGiB);
    CHECK(hidden == std::vector{kNode});
    CHECK(did().starts_with("PATCH "));
    CHECK(server.text(told().front()).find(R"("capacity":"0")") != std::string::npos);
    // Not for longer, whoever is refused meanwhile.
    manual.advance(NodeChooser::kHidden / 2);
    claim.name = "another";
    hide(kGiB);
    manual.advance(NodeChooser::kHidden / 2);
    beat(kNode);
    did();
    CHECK(server.text(told().front()).find(R"("capacity":"10Gi")") != std::string::npos);
    hide(kGiB);
    CHECK(hidden.size() == 1);
    manual.advance(NodeChooser::kHideInterval);
    beat(kNode);
    hide(kGiB);
    CHECK(hidden.size() == 2);
  }
  SUBCASE("but not where there is no room for that, either") { hide(kTenGiB + kGiB); }
  SUBCASE("nor for a claim that it does not send") {
    claim.selected_node.clear();
    hide(kGiB);
  }
  if (hidden.empty()) CHECK(did() == "");
}

TEST_CASE_FIXTURE(Fixture, "an API server that has no such objects is asked again") {
  server.erase(kGroupPath);
  CHECK(did().find("csistoragecapacities") == std::string::npos);
  CHECK(told().empty());
  server.put(kGroupPath, R"({"resources":[{"name":"csistoragecapacities"}]})");
  did();
  CHECK(told().size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a worker that looks for the place late leaves it as another found it") {
  put(classes, with(class_text(), R"("name":"local")", R"("name":"other")"));
  know_node(kOtherNode);
  std::optional<Status> early, late;
  auto& at_version = held.hold_next(kGroupPath);
  tasks.spawn(kube::test::store(publisher.work(kOtherNode), late));
  wait_until_taken(at_version);
  auto& at_first_class = held.hold_next("/csistoragecapacities/");
  tasks.spawn(kube::test::store(publisher.work(kNode), early));
  wait_until_taken(at_first_class);
  auto& at_owner = held.hold_next("/daemonsets/");
  held.release(at_version);
  wait_until_taken(at_owner);
  held.release(at_first_class);
  REQUIRE(run_until([&] { return early.has_value(); }));
  held.release(at_owner);
  REQUIRE(run_until([&] { return late.has_value(); }));
  CHECK(early->ok());
  CHECK(late->ok());
  CHECK(told().size() == 4);
}

}  // namespace flexlocal::provisioner::test
