#include "provisioner/rank_placer.h"

#include "provisioner/immediate_rank.h"
#include "test/unit/provisioner/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;

const std::string kTake = "PATCH " + kClaimPath;
const std::string kOwnNode = "GET /api/v1/nodes/" + kNode + "?resourceVersion=0";
const std::string kList =
    "GET /apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities"
    "?labelSelector=flexlocal.io%2Fimmediate&resourceVersion=0";

// A claim of 1 GiB of an Immediate class that waits, this node with room for two, and what others
// tell.
struct Fixture : NodeLab {
  CapacitySurvey survey{parts, "ns", [] {}};
  std::optional<Bytes> room = kGiB + kGiB;
  std::vector<std::pair<std::string, std::chrono::nanoseconds>> let;  // in line, to be taken next
  RankPlacer placer{parts, survey,
                    [this](const std::string&) -> std::optional<Bytes> {
                      if (!room) return std::nullopt;
                      return *room - ledger.given("default", "", "");
                    },
                    [this](const std::string& key, std::chrono::nanoseconds after) {
                      let.emplace_back(key, after);
                    }};
  Claim claim = sample_claim();

  Fixture() {
    claims.on_change([this](const std::string& key) { placer.notice(key); });
    have_class("");
    have_node("");
    answers["GET /apis/storage.k8s.io/v1"] = {
        {200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
    claim.selected_node.clear();
    know_claim(claim);
    others_have({});
    answers[kTake] = {{200, chosen(kNode)}};
  }
  // more: a field of the class, and of the Node's spec.
  void have_class(const std::string& more) {
    put(classes, with(class_text(), R"("WaitForFirstConsumer")", concat(R"("Immediate")", more)));
  }
  void have_node(const std::string& spec, bool ready = true) {
    answers[kOwnNode] = {
        {200, concat(R"({"metadata":{"name":")", kNode,
                     R"(","labels":{"kubernetes.io/hostname":"host-a","zone":"1"}},)",
                     R"("spec":{)", spec, R"(},"status":{"conditions":[{"type":"Ready","status":")",
                     ready ? "True" : "False", R"("}]}})")}};
  }
  // Each of them 1 GiB, on hosts of the nodes' names; `own`: what this node told, if it did.
  void others_have(const std::vector<std::string>& nodes, const std::string& own = {}) {
    std::vector<std::string> items;
    items.reserve(nodes.size() + 1);
    for (const std::string& node : nodes)
      items.push_back(concat(R"({"metadata":{"labels":{"flexlocal.io/node":")", node,
                             R"("}},"nodeTopology":{"matchLabels":{"kubernetes.io/hostname":")",
                             node, R"("}},"storageClassName":"local","capacity":"1Gi"})"));
    if (!own.empty())
      items.push_back(concat(R"({"metadata":{"labels":{"flexlocal.io/node":")", kNode,
                             R"("}},"storageClassName":"local","capacity":")", own, R"("})"));
    answers[kList] = {
        {200, concat(R"({"metadata":{"resourceVersion":"7"},"items":[)", join(items, ","), "]}")}};
    REQUIRE(wait_for(survey.look()).ok());
    journal.clear();
  }
  // Nodes that are before this one for the claim, as many as are asked for.
  std::vector<std::string> better_nodes(std::size_t count) const {
    std::vector<std::string> better;
    for (int i = 0; better.size() < count; ++i) {
      const std::string name = concat("other-", i);
      const NodeHash own = hash_of_node(kNode);
      if (rank_of({own, *room}, {{hash_of_node(name), kGiB}}, claim.uid, kGiB) == 1)
        better.push_back(name);
    }
    return better;
  }
  std::string chosen(const std::string& node) const {
    Claim now = claim;
    now.selected_node = node;
    return claim_text(now);
  }
  RankPlacer::Again work() {
    auto again = wait_for(placer.work("shop/data"));
    REQUIRE(again.ok());
    return *again;
  }
  long taken() const { return std::count(journal.begin(), journal.end(), kTake); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the only node takes the claim at once, by the version that it saw") {
  const std::string version = claims.get("shop/data")->resource_version;
  CHECK(placer.notice("shop/data"));
  CHECK(work() == RankPlacer::Again());
  REQUIRE(taken() == 1);
  const std::string body = body_of(kube::Method::kPatch, kClaimPath);
  CHECK(body.find(R"("volume.kubernetes.io/selected-node":"node-a")") != std::string::npos);
  CHECK(body.find(concat(R"("resourceVersion":")", version, '"')) != std::string::npos);
  CHECK(claims.get("shop/data")->selected_node == kNode);
  CHECK(parts.work.claims_taken.with({}).value() == 1);
  CHECK_FALSE(placer.notice("shop/data"));
}

TEST_CASE_FIXTURE(Fixture,
                  "what was taken counts against the next claim before there is a volume") {
  for (const auto& [name, uid] : std::vector<std::pair<std::string, std::string>>{
           {"other", kOtherUid}, {"third", "22222222-2222-3333-4444-555555555555"}}) {
    Claim more = claim;
    more.name = name;
    more.uid = uid;
    know_claim(more);
  }
  CHECK(work() == RankPlacer::Again());
  manual.advance(time_to_take(3, 1));
  CHECK(*wait_for(placer.work("shop/other")) == RankPlacer::Again());
  manual.advance(time_to_take(3, 1));
  journal.clear();
  CHECK(*wait_for(placer.work("shop/third")) == RankPlacer::Again(seconds(5)));
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "behind others, it steps in after a pause for each, if the claim waits") {
  others_have(better_nodes(2));
  CHECK(work() == RankPlacer::Again(2 * kRankPause));
  manual.advance(seconds(3));
  others_have(better_nodes(2));
  CHECK(work() == RankPlacer::Again(2 * kRankPause - seconds(3)));
  CHECK(taken() == 0);
  SUBCASE("it does") {
    manual.advance(2 * kRankPause - seconds(3));
    CHECK(work() == RankPlacer::Again());
    CHECK(taken() == 1);
  }
  SUBCASE("somebody has taken it") {
    put(claims, chosen("other-1"));
    manual.advance(2 * kRankPause);
    CHECK(work() == RankPlacer::Again());
    CHECK(taken() == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "far behind, it asks again who is before it when the list is old") {
  others_have(better_nodes(9));
  CHECK(work() == RankPlacer::Again(seconds(30)));
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 0);
  others_have(better_nodes(4));
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "it ranks itself by what it told, as others do, and takes by what it has") {
  const auto better = better_nodes(1);
  others_have(better, "1Mi");  // others leave it out: it has become free since
  CHECK(work() == RankPlacer::Again(kRankPause));
  others_have(better, "1Ei");
  room = kMiB;
  CHECK(work() == RankPlacer::Again(seconds(5)));
  CHECK(taken() == 0);
  room = kGiB;
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "the pauses begin anew when the claim waits anew") {
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again(kRankPause));
  manual.advance(seconds(4));
  put(claims, chosen("other-1"));
  CHECK_FALSE(placer.notice("shop/data"));
  know_claim(claim);
  CHECK(work() == RankPlacer::Again(kRankPause));
}

TEST_CASE_FIXTURE(Fixture, "while those that are first are slow, the pauses are longer") {
  const std::string better = better_nodes(1).front();
  others_have({better});
  CHECK(work() == RankPlacer::Again(kRankPause));
  manual.advance(seconds(4));
  put(claims, chosen(better));  // the first took four seconds
  know_claim(claim);
  CHECK(work() == RankPlacer::Again(seconds(8)));
  manual.advance(RankPause::kForget);
  others_have({better});
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "not far behind, it looks again soon, for pauses get shorter") {
  const std::string better = better_nodes(1).front();
  others_have({better});
  CHECK(work() == RankPlacer::Again(kRankPause));
  manual.advance(seconds(40));
  put(claims, chosen(better));
  know_claim(claim);
  CHECK(work() == RankPlacer::Again(seconds(10)));  // not 80
  manual.advance(3 * RankPause::kForget);
  others_have({better});
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "what was taken out of turn says nothing of those that are first") {
  others_have(better_nodes(2));
  CHECK(work() == RankPlacer::Again(2 * kRankPause));
  manual.advance(seconds(9));
  put(claims, chosen(kNode));  // the third
  ledger.release("shop/data");
  know_claim(claim);
  manual.advance(seconds(30));
  others_have(better_nodes(2));
  CHECK(work() == RankPlacer::Again(2 * kRankPause));
}

TEST_CASE_FIXTURE(Fixture, "pauses count from when a node knows its place") {
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RankPlacer::Again());  // the list is too old
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again(kRankPause));
}

TEST_CASE_FIXTURE(Fixture, "without a list that is good it waits for one") {
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 0);
  CHECK(placer.asking() == std::vector<std::string>{"shop/data"});
  others_have({});
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
  CHECK(placer.asking().empty());
}

TEST_CASE_FIXTURE(Fixture, "claims of a burst are taken one after the other, at all nodes' pace") {
  Claim other = claim;
  other.name = "other";
  other.uid = kOtherUid;
  know_claim(other);
  room = Bytes(9 * kGiB.count());
  placer.notice("shop/other");
  CHECK(work() == RankPlacer::Again());
  const auto step = time_to_take(1, 1);
  CHECK(*wait_for(placer.work("shop/other")) == RankPlacer::Again(step));
  CHECK(taken() == 1);
  manual.advance(step);
  answers["PATCH /api/v1/namespaces/shop/persistentvolumeclaims/other"] = {{409, "{}"}};
  CHECK(*wait_for(placer.work("shop/other")) == RankPlacer::Again());
  CHECK(parts.work.immediate_conflicts.with({}).value() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a pause has room for what the firsts have to take before") {
  for (int i = 0; i < 100; ++i) {
    Claim other = claim;
    other.name = concat("other-", i);
    other.uid = concat("22222222-2222-3333-4444-", 100'000'000'000 + i);
    know_claim(other);
  }
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again(kRankPause + time_to_take(100, 1)));
}

TEST_CASE_FIXTURE(Fixture, "an old list is good to wait by, once, and none is asked for") {
  others_have(better_nodes(1));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  CHECK(work() == RankPlacer::Again(kRankPause));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(kRankPause);
  CHECK(work() == RankPlacer::Again());
  CHECK(survey.is_wanted());
  CHECK(taken() == 0);
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "behind others by an old list, a claim takes no pass until its turn") {
  others_have(better_nodes(2));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  put(claims, claim_text(claim));
  CHECK(placer.others_first("shop/data") == RankPlacer::Again(2 * kRankPause));
  manual.advance(kRankPause);
  CHECK(placer.others_first("shop/data") == RankPlacer::Again(kRankPause));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(kRankPause);
  CHECK(placer.others_first("shop/data") == RankPlacer::Again());
  CHECK(placer.others_first("shop/none") == RankPlacer::Again());
  put(claims, chosen("other-1"));
  CHECK(placer.others_first("shop/data") == RankPlacer::Again());
}

TEST_CASE_FIXTURE(Fixture, "a far node asks for a list when the first ones have had their time") {
  others_have(better_nodes(9));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  CHECK(work() == RankPlacer::Again(seconds(30)));
  manual.advance(4 * kRankPause - seconds(1));
  CHECK(work() == RankPlacer::Again(seconds(26)));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(seconds(1));
  CHECK(work() == RankPlacer::Again());
  CHECK(survey.is_wanted());
}

TEST_CASE_FIXTURE(Fixture, "a node that no other is before, or that has no room, takes a pass") {
  CHECK(placer.others_first("shop/data") == RankPlacer::Again());
  others_have(better_nodes(1));
  room = kMiB;
  CHECK(placer.others_first("shop/data") == RankPlacer::Again());
}

TEST_CASE_FIXTURE(Fixture, "the longer a claim waits, the longer until it is looked at again") {
  const auto begun = manual.now();
  for (const int waited : {0, 30, 30, 60, 120, 240, 300}) {
    manual.advance(seconds(waited));
    others_have(better_nodes(400));
    const auto expected =
        std::clamp<std::chrono::nanoseconds>(manual.now() - begun, seconds(30), seconds(300));
    CHECK(work() == RankPlacer::Again(expected));
  }
}

TEST_CASE_FIXTURE(Fixture, "nodes whose turn it is not ask for nothing") {
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again(kRankPause));
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a node without room asks nobody, and looks again when there may be") {
  for (const auto& none : {std::optional<Bytes>(kMiB), std::optional<Bytes>()}) {
    room = none;
    CHECK(work() == RankPlacer::Again(seconds(5)));
    CHECK(journal.empty());
  }
  room = kGiB;
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "somebody who was faster is counted, and that version is left alone") {
  answers[kTake] = {{409, refused("Conflict")}, {200, chosen(kNode)}};
  CHECK(work() == RankPlacer::Again());
  CHECK(parts.work.immediate_conflicts.with({}).value() == 1);
  CHECK_FALSE(ledger.has_reservations());
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
  know_claim(claim);
  manual.advance(time_to_take(1, 1));
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 2);
}

TEST_CASE_FIXTURE(Fixture, "an answer that was lost keeps its room until the claim is seen again") {
  broken[kTake] = ErrorCode::kDeadline;
  const auto again = wait_for(placer.work("shop/data"));
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().message().find("taking the claim for this node") != std::string::npos);
  CHECK(ledger.has_reservations());
}

TEST_CASE_FIXTURE(Fixture, "a claim that this node handed back it passes over for a while") {
  CHECK(work() == RankPlacer::Again());
  ledger.release("shop/data");
  know_claim(claim);
  CHECK(placer.notice("shop/data"));
  manual.advance(seconds(29));
  others_have({});
  CHECK(work() == RankPlacer::Again(seconds(1)));
  CHECK(taken() == 0);
  manual.advance(seconds(1));
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture, "allowedTopologies: this node by its labels, others by their hostname") {
  const std::string begin = R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":)";
  SUBCASE("not this node, by a label that others do not tell") {
    have_class(begin + R"("zone","values":["2"]}]}])");
    CHECK(work() == RankPlacer::Again(seconds(5)));
  }
  SUBCASE("not this node, by its hostname") {
    have_class(begin + R"("kubernetes.io/hostname","values":["b"]}]}])");
    CHECK(work() == RankPlacer::Again(seconds(5)));
  }
  SUBCASE("not the one that is before it, by its hostname") {
    others_have(better_nodes(1));
    have_class(begin + R"("kubernetes.io/hostname","values":["host-a"]}]}])");
    CHECK(work() == RankPlacer::Again());
    CHECK(taken() == 1);
    return;
  }
  SUBCASE("perhaps the one that is before it, by another label") {
    others_have(better_nodes(1));
    have_class(begin + R"("zone","values":["1"]}]}])");
    CHECK(work() == RankPlacer::Again(kRankPause));
  }
  CHECK(taken() == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a node that is cordoned or not Ready takes none, and looks again soon") {
  SUBCASE("cordoned") { have_node(R"("unschedulable":true)"); }
  SUBCASE("not Ready") { have_node("", false); }
  CHECK(work() == RankPlacer::Again(seconds(5)));
  CHECK(taken() == 0);
  have_node("");
  manual.advance(seconds(9));
  CHECK(work() == RankPlacer::Again(seconds(5)));
  manual.advance(seconds(1));
  CHECK(work() == RankPlacer::Again());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(Fixture,
                  "claims that are late-binding, bound, going, chosen or not ours are left alone") {
  for (const auto& change : std::vector<std::function<void(Claim&)>>{
           [](Claim& c) { c.marked = false; }, [](Claim& c) { c.volume_name = "pv"; },
           [](Claim& c) { c.selected_node = "other"; },
           [](Claim& c) { c.storage_class = "none"; }}) {
    Claim other = claim;
    change(other);
    know_claim(other);
    CHECK_FALSE(placer.notice("shop/data"));
    CHECK(work() == RankPlacer::Again());
  }
  know_claim(claim);
  put(classes, class_text());
  CHECK(work() == RankPlacer::Again());
  CHECK(placer.asking().empty());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "what no node could make is taken by none") {
  claim.requested = "1Mi";
  know_claim(claim);
  CHECK(work() == RankPlacer::Again());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "a claim of the same name is another claim") {
  others_have(better_nodes(1));
  CHECK(work() == RankPlacer::Again(kRankPause));
  manual.advance(seconds(4));
  claim.uid = kOtherUid;
  know_claim(claim);
  const auto better = better_nodes(1);
  others_have(better);
  CHECK(work() == RankPlacer::Again(kRankPause));
}

}  // namespace flexlocal::provisioner::test
