#include "provisioner/controller/view/roll_caller.h"

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

// A leader that has just begun.
struct Fixture : OrderLab {
  RollCaller next{node_cache, index, "", manual, log, put_back};

  Fixture() {
    beats.on_change([this](const std::string& key) {
      if (const NodeHeartbeat* const known = beats.get(key)) next.heard(*known);
    });
  }
  bool is_over() {
    manual.advance(seconds(1));
    return next.is_over();
  }
  bool waits_for(const std::string& words) { return next.words().find(words) != std::string::npos; }
  void label(const std::string& node) {
    std::string text = ready_node(node);
    text.insert(text.find(R"("kubernetes.io/hostname")"), R"("flexlocal.io/roll-call":"skip",)");
    put(nodes, server.put(node_path(node), text));
  }
  // node-c, with that label.
  void know_without_lease(const std::string& label) {
    std::string text = ready_node("node-c");
    text.insert(text.find(R"("kubernetes.io/hostname")"), label);
    put(nodes, server.put(node_path("node-c"), text));
  }
  void make_unready(const std::string& node) {
    std::string text = ready_node(node);
    text.replace(text.find(R"("True")"), 6, R"("Unknown")");
    put(nodes, server.put(node_path(node), text));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "before it has begun it is not over") { CHECK_FALSE(is_over()); }

TEST_CASE_FIXTURE(Fixture, "a beat from before the lists does not count, the next one does") {
  next.begin(kTerm);
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-a has not renewed its Lease yet"));
  beat(kNode);
  CHECK(is_over());
  CHECK(next.words().empty());
}

TEST_CASE_FIXTURE(Fixture, "all nodes are waited for, but for those that never had a daemon") {
  know_node(kOtherNode);
  put(nodes, ready_node("control-plane"));
  next.begin(kTerm);
  manual.advance(seconds(1));
  beat(kNode);
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-b"));
  CHECK_FALSE(waits_for("node node-a"));
  beat(kOtherNode);
  CHECK(is_over());
}

TEST_CASE_FIXTURE(Fixture,
                  "a node without a Lease is waited for as long as its daemon may be late") {
  SUBCASE("where it had one") { know_without_lease(R"("flexlocal.io/ready":"true",)"); }
  SUBCASE("where it may have had one, after a put-back") {
    put_back = true;
    know_without_lease("");
  }
  next.begin(kTerm);
  manual.advance(seconds(1));
  beat(kNode);
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-c has not renewed its Lease yet"));
  manual.advance(kHeartbeatDuration);
  beat(kNode);
  CHECK_FALSE(is_over());
  node_cache.confirm_silence("node-c");
  CHECK(is_over());
}

TEST_CASE_FIXTURE(Fixture, "where a daemon was, its node's Lease is waited for after a put-back") {
  std::string label;
  SUBCASE("and ran") { label = R"("flexlocal.io/ready":"true",)"; }
  SUBCASE("and was gone") { label = R"("flexlocal.io/ready":"false",)"; }
  put_back = true;
  know_without_lease(label);
  next.begin(kTerm);
  manual.advance(std::chrono::hours(1));
  beat(kNode);
  node_cache.confirm_silence("node-c");
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-c gives no sign of life"));
}

TEST_CASE_FIXTURE(Fixture, "where a daemon was gone nobody waits without a put-back") {
  know_without_lease(R"("flexlocal.io/ready":"false",)");
  next.begin(kTerm);
  manual.advance(seconds(1));
  beat(kNode);
  CHECK(is_over());
}

TEST_CASE_FIXTURE(Fixture, "a node counts once it sees the orders that the API server has for it") {
  CopyOrder order = sample_order(sample_spec(kOtherUid));
  know_copy(order);
  next.begin(kTerm);
  manual.advance(seconds(1));
  put(beats, beat_of(kNode, 100, kTenGiB));
  CHECK_FALSE(is_over());
  CHECK(waits_for("does not see the VolumeCopies"));
  beat(kNode);
  CHECK(is_over());
}

TEST_CASE_FIXTURE(Fixture, "an order that comes or goes meanwhile is looked for as well") {
  next.begin(kTerm);
  const CopyOrder order = sample_order(sample_spec(kOtherUid));
  know_copy(order);
  manual.advance(seconds(1));
  put(beats, beat_of(kNode, 100, kTenGiB));
  CHECK_FALSE(is_over());
  put(beats, beat_of(kNode, 101, kTenGiB, 0, {copy_name(order)}));
  CHECK(is_over());
}

TEST_CASE_FIXTURE(Fixture,
                  "a node whose daemon is silent is passed over as soon as that is known") {
  next.begin(kTerm);
  SUBCASE("by its Lease") {
    manual.advance(kHeartbeatDuration);
    CHECK_FALSE(next.is_over());
    manual.advance(seconds(1));
    CHECK_FALSE(next.is_over());
    node_cache.confirm_silence(kNode);
    CHECK(is_over());
  }
  SUBCASE("by its Node") {
    make_unready(kNode);
    CHECK(is_over());
  }
}

TEST_CASE_FIXTURE(Fixture, "a node that is not Ready and beats is asked like any other") {
  make_unready(kNode);
  know_copy(sample_order(sample_spec(kOtherUid)));
  next.begin(kTerm);
  manual.advance(seconds(1));
  put(beats, beat_of(kNode, 100, kTenGiB));
  CHECK_FALSE(is_over());
}

TEST_CASE_FIXTURE(Fixture, "after a put-back silent nodes are waited for, in words") {
  put_back = true;
  make_unready(kNode);
  next.begin(kTerm);
  CHECK(next.was_put_back());
  CHECK(next.shows_put_back());
  manual.advance(std::chrono::hours(1));
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-a gives no sign of life"));
  CHECK(waits_for("kubectl label node node-a flexlocal.io/roll-call=skip"));
  SUBCASE("until they come back") { beat(kNode); }
  SUBCASE("until a person says so") { label(kNode); }
  CHECK(is_over());
  CHECK_FALSE(put_back);
  CHECK(next.shows_put_back());
}

TEST_CASE_FIXTURE(Fixture, "a host that has followed a later leader shows a put-back as well") {
  know_node(kOtherNode);
  beat(kOtherNode, kTerm - 1);
  make_unready(kNode);
  next.begin(kTerm);
  CHECK_FALSE(next.was_put_back());
  CHECK(next.shows_put_back());
  manual.advance(std::chrono::hours(1));
  beat(kOtherNode, kTerm - 1);
  CHECK_FALSE(is_over());
  CHECK(waits_for("node node-a gives no sign of life"));
}

TEST_CASE_FIXTURE(Fixture, "a term that an order bears is no sign, whoever followed it") {
  CopyOrder order = sample_order(sample_spec(kOtherUid));
  order.term = kTerm - 1;
  know_copy(order);
  beat(kNode, kTerm - 1);
  next.begin(kTerm);
  CHECK_FALSE(next.shows_put_back());
  // Nor is one that this leader gave.
  order = sample_order();
  order.term = kTerm;
  know_copy(order);
  beat(kNode, kTerm);
  CHECK_FALSE(next.shows_put_back());
}

TEST_CASE_FIXTURE(Fixture, "a node that has more than its Lease can name is waited for") {
  next.begin(kTerm);
  manual.advance(seconds(1));
  for (int i = 0; i < 1000; ++i) {
    beside[kNode].push_back({.volume = sample_spec(), .ready = true});
    beside[kNode].back().volume.cluster_id.clear();
  }
  beat(kNode);
  CHECK_FALSE(is_over());
  CHECK(waits_for("than its Lease can name"));
}

TEST_CASE_FIXTURE(Fixture, "a daemon that tells nothing is passed over after a minute") {
  next.begin(kTerm);
  const auto beat_without_roll = [this](int renewed) {
    std::string text = beat_of(kNode, renewed, kTenGiB);
    text.replace(text.find("flexlocal.io/copies"), 19, "flexlocal.io/nothing");
    put(beats, text);
  };
  manual.advance(seconds(30));
  beat_without_roll(100);
  CHECK_FALSE(is_over());
  CHECK(waits_for("has not said yet which volumes it has"));
  manual.advance(seconds(30));
  beat_without_roll(101);
  CHECK(is_over());
}

}  // namespace flexlocal::provisioner::test
