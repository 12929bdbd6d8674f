#include "provisioner/controller/orders/immediate_placer.h"

#include <optional>
#include <utility>

#include "test/unit/controller/orders/pending_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kPlace = "PATCH " + kClaimPath;

// A claim of an Immediate class, and one node with room for two of them.
struct Fixture : ClusterLab {
  std::optional<PendingLab> pending{std::in_place, *this};
  Claim claim = sample_claim();
  int beat = 0;

  Fixture() {
    put(classes, with(class_text(), "WaitForFirstConsumer", "Immediate"));
    claim.selected_node.clear();
    know("data", kUid);
    know_node(2 * kGiB.count());
    answer_with(kNode);
  }
  void know(const std::string& name, const std::string& uid) {
    Claim known = claim;
    known.name = name;
    known.uid = uid;
    put(claims, claim_text(known));
  }
  void know_node(std::uint64_t free) {
    put(nodes, node_text());
    put(beats, lease_text(++beat, Bytes(free)));
  }
  // The claim as the API server has it after the patch.
  void answer_with(const std::string& node) {
    Claim chosen = claim;
    chosen.selected_node = node;
    std::string text = claim_text(chosen);
    const std::size_t at = text.find(R"("resourceVersion":")") + 19;
    text.replace(at, text.find('"', at) - at, "2000000");
    answers[kPlace] = {{200, text}};
  }
  Status work(const std::string& name = "data") {
    return wait_for(pending->worker.work("shop/" + name));
  }
  long placed() const { return std::count(journal.begin(), journal.end(), kPlace); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "an Immediate claim gets the node with room as its selected node") {
  const std::string version = claims.get("shop/data")->resource_version;
  CHECK(work().ok());
  REQUIRE(placed() == 1);
  const std::string& body = http.seen.back().body;
  CHECK(body.find(R"("volume.kubernetes.io/selected-node":"node-a")") != std::string::npos);
  CHECK(body.find(concat(R"("resourceVersion":")", version, '"')) != std::string::npos);
  CHECK(claims.get("shop/data")->selected_node == kNode);
}

TEST_CASE_FIXTURE(Fixture, "claims at once are not sent to the same last byte") {
  know_node(kGiB.count());
  know("other", kOtherUid);
  CHECK(work().ok());
  CHECK(work("other").ok());
  CHECK(journal == std::vector<std::string>{kPlace});
}

TEST_CASE_FIXTURE(Fixture, "what was assigned counts until the node has had time to say so") {
  know_node(kGiB.count());
  CHECK(work().ok());
  put(volumes, volume_text(sample_spec(), "Available"));
  know("other", kOtherUid);
  // The node says that there is room for one more, beside the volume.
  const auto later = [&](int after) {
    manual.advance(seconds(after));
    know_node(kGiB.count());
    CHECK(work("other").ok());
    return std::count(journal.begin(), journal.end(),
                      "PATCH /api/v1/namespaces/shop/persistentvolumeclaims/other");
  };
  CHECK(later(0) == 0);
  CHECK(later(39) == 0);
  CHECK(later(1) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a node that handed the claim back is passed over for a while") {
  CHECK(work().ok());
  know("data", kUid);
  put(claims, with(claim_text(claim), R"("resourceVersion":")", R"("resourceVersion":"3000)"));
  REQUIRE(claims.get("shop/data")->selected_node.empty());
  CHECK(work().ok());
  CHECK(placed() == 1);
  manual.advance(seconds(29));
  know_node(2 * kGiB.count());
  CHECK(work().ok());
  CHECK(placed() == 1);
  manual.advance(seconds(1));
  CHECK(work().ok());
  CHECK(placed() == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "a claim that changed at that moment is looked at again, and nothing is kept") {
  answers[kPlace] = {{409, R"({"kind":"Status","reason":"Conflict"})"}, {200, "{}"}};
  CHECK_FALSE(work().ok());
  CHECK(work().ok());
  CHECK(placed() == 2);
}

TEST_CASE_FIXTURE(
    Fixture, "a claim that is late-binding, bound, going or not marked is none of its business") {
  for (const auto& change : std::vector<std::function<void(Claim&)>>{
           [](Claim& c) { c.marked = false; }, [](Claim& c) { c.volume_name = "pv"; },
           [](Claim& c) { c.selected_node = kNode; }}) {
    claim = sample_claim();
    claim.selected_node.clear();
    change(claim);
    know("data", kUid);
    CHECK(work().ok());
  }
  claim = sample_claim();
  claim.selected_node.clear();
  know("data", kUid);
  put(classes, class_text());
  CHECK(work().ok());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "without room the claim is told why, as late-binding ones are") {
  for (const int second : {0, 20}) {
    manual.advance(seconds(second));
    know_node(0);
    CHECK(work().ok());
  }
  CHECK(journal.empty());
  CHECK(events_written().find("1 pool full") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "switched off, nobody is chosen, and the claim says who decided so") {
  pending.emplace(*this, ImmediateBinding::kOff);
  for (const int second : {0, 20}) {
    manual.advance(seconds(second));
    CHECK(work().ok());
  }
  CHECK(journal.empty());
  CHECK(events_written().find("(--immediate=off); use a class with WaitForFirstConsumer") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture,
                  "where the nodes rank, nobody is chosen, and only a lack of room is told") {
  pending.emplace(*this, ImmediateBinding::kRank);
  for (const int second : {0, 20}) {
    manual.advance(seconds(second));
    know_node(kGiB.count());
    CHECK(work().ok());
  }
  bool told = false;
  SUBCASE("room") {}
  SUBCASE("no room") {
    told = true;
    for (const int second : {0, 20}) {
      manual.advance(seconds(second));
      know_node(0);
      CHECK(work().ok());
    }
  }
  CHECK(journal.empty());
  CHECK((events_written().find("1 pool full") != std::string::npos) == told);
}

TEST_CASE_FIXTURE(Fixture, "what no node could make is sent to none, and told here") {
  claim.requested = "1Mi";
  know("data", kUid);
  for (const int second : {0, 20}) {
    manual.advance(seconds(second));
    CHECK(work().ok());
  }
  CHECK(journal.empty());
  CHECK(events_written().find("300 MiB") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
