// Who takes a claim, and what is taken.
#include "test/unit/controller/publish/rank_lab.h"
#include "test/unit/objects/json_merge.h"

namespace flexlocal::provisioner::test {

using std::chrono::seconds;

TEST_CASE_FIXTURE(RankLab, "the only node takes the claim at once, by the version that it saw") {
  const std::string version = claims.get("shop/data")->resource_version;
  CHECK(placer.notice("shop/data"));
  CHECK(work() == RequeueAfter());
  REQUIRE(taken() == 1);
  const std::string body = body_of_take();
  CHECK(body.find(R"("volume.kubernetes.io/selected-node":"node-a")") != std::string::npos);
  CHECK(body.find(concat(R"("resourceVersion":")", version, '"')) != std::string::npos);
  CHECK(claims.get("shop/data")->selected_node == kNode);
  CHECK(ClusterLab::work.claims_taken.with({}).value() == 1);
  CHECK_FALSE(placer.notice("shop/data"));
}

TEST_CASE_FIXTURE(RankLab, "what was taken counts against the next claim before it is ordered") {
  know_more({"other", "third"});
  Claim other = *claims.get("shop/other");
  other.selected_node = kNode;
  answers["PATCH /api/v1/namespaces/shop/persistentvolumeclaims/other"] = {
      {200, claim_text(other)}};
  CHECK(work() == RequeueAfter());
  manual.advance(time_to_take(3, 1));
  CHECK(*wait_for(placer.work("shop/other")) == RequeueAfter());
  manual.advance(time_to_take(3, 1));
  journal.clear();
  CHECK(*wait_for(placer.work("shop/third")) == RequeueAfter(seconds(5)));
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(RankLab,
                  "it ranks itself by what it told, as others do, and takes by what it has") {
  const auto better = better_nodes(1);
  others_have(better, "1Mi");  // others leave it out: it has become free since
  CHECK(work() == RequeueAfter(kRankPause));
  others_have(better, "1Ei");
  room = kMiB;
  CHECK(work() == RequeueAfter(seconds(5)));
  CHECK(taken() == 0);
  room = kGiB;
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "claims of a burst are taken one after the other, at all nodes' pace") {
  know_more({"other"});
  room = Bytes(9 * kGiB.count());
  placer.notice("shop/other");
  CHECK(work() == RequeueAfter());
  const auto step = time_to_take(1, 1);
  CHECK(*wait_for(placer.work("shop/other")) == RequeueAfter(step));
  CHECK(taken() == 1);
  manual.advance(step);
  answers["PATCH /api/v1/namespaces/shop/persistentvolumeclaims/other"] = {{409, "{}"}};
  CHECK(*wait_for(placer.work("shop/other")) == RequeueAfter());
  CHECK(ClusterLab::work.immediate_conflicts.with({}).value() == 1);
}

TEST_CASE_FIXTURE(RankLab, "a claim that is left to others leaves the line to the next") {
  room = Bytes(9 * kGiB.count());
  know_more({"first", "next"});
  CHECK(*wait_for(placer.work("shop/first")) == RequeueAfter());
  const auto step = time_to_take(3, 1);
  CHECK(work() == RequeueAfter(step));
  CHECK(*wait_for(placer.work("shop/next")) == RequeueAfter());
  CHECK(admitted.empty());
  others_have(better_nodes(1));
  CHECK(placer.others_first("shop/data") == RequeueAfter(kRankPause + time_to_take(2, 1)));
  REQUIRE(admitted.size() == 1);
  CHECK(admitted.front() == std::pair(std::string("shop/next"), std::chrono::nanoseconds(step)));
}

TEST_CASE_FIXTURE(RankLab, "a node without room asks nobody, and looks again when there may be") {
  for (const Bytes none : {kMiB, Bytes()}) {
    room = none;
    CHECK(work() == RequeueAfter(seconds(5)));
    CHECK(journal.empty());
  }
  room = kGiB;
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "somebody who was faster is counted, and that version is left alone") {
  answers[kTake] = {{409, refused("Conflict")}, {200, chosen(kNode)}};
  CHECK(work() == RequeueAfter());
  CHECK(ClusterLab::work.immediate_conflicts.with({}).value() == 1);
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
  know_claim(claim);
  manual.advance(time_to_take(1, 1));
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 2);
}

TEST_CASE_FIXTURE(RankLab, "a claim that has waited is looked at before it is taken") {
  const std::string unchanged = claim_text(claim);
  put(claims, unchanged);
  manual.advance(seconds(3));
  others_have({});
  SUBCASE("and left to whom it has been given meanwhile, without a write") {
    answers[kLook] = {{200, chosen("other")}};
    CHECK(work() == RequeueAfter());
    CHECK(taken() == 0);
    CHECK(claims.get("shop/data")->selected_node == "other");
  }
  SUBCASE("and taken when it has not changed") {
    answers[kLook] = {{200, unchanged}};
    CHECK(work() == RequeueAfter());
    CHECK(taken() == 1);
  }
  SUBCASE("and not taken when it cannot be looked at") {
    broken[kLook] = ErrorCode::kUnavailable;
    CHECK_FALSE(wait_for(placer.work("shop/data")).ok());
    CHECK(taken() == 0);
  }
  CHECK(std::count(journal.begin(), journal.end(), kLook) == 1);
}

TEST_CASE_FIXTURE(RankLab, "an answer that was lost is told, and the claim looked at again") {
  broken[kTake] = ErrorCode::kDeadline;
  const auto again = wait_for(placer.work("shop/data"));
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().message().find("taking the claim for this node") != std::string::npos);
}

TEST_CASE_FIXTURE(RankLab, "what was taken counts until it is ordered, which counts by itself") {
  know_more({"other", "third"});
  CHECK(work() == RequeueAfter());
  CopyOrder order = sample_order();
  put(copies, merged(copy_json(order), R"({"metadata":{"resourceVersion":"5","uid":"u"}})"));
  manual.advance(time_to_take(3, 1));
  CHECK(*wait_for(placer.work("shop/other")) == RequeueAfter());
  manual.advance(time_to_take(3, 1));
  CHECK(*wait_for(placer.work("shop/third")) == RequeueAfter());
  CHECK(ClusterLab::work.claims_taken.with({}).value() == 3);
}

TEST_CASE_FIXTURE(RankLab, "a claim that this node handed back it passes over for a while") {
  CHECK(work() == RequeueAfter());
  know_claim(claim);
  CHECK(placer.notice("shop/data"));
  manual.advance(seconds(29));
  others_have({});
  CHECK(work() == RequeueAfter(seconds(1)));
  CHECK(taken() == 0);
  manual.advance(seconds(1));
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "allowedTopologies: this node by its labels, others by their hostname") {
  const std::string begin = R"(,"allowedTopologies":[{"matchLabelExpressions":[{"key":)";
  SUBCASE("not this node, by a label that others do not tell") {
    have_class(begin + R"("zone","values":["2"]}]}])");
    CHECK(work() == RequeueAfter(seconds(5)));
  }
  SUBCASE("not this node, by its hostname") {
    have_class(begin + R"("kubernetes.io/hostname","values":["b"]}]}])");
    CHECK(work() == RequeueAfter(seconds(5)));
  }
  SUBCASE("not the one that is before it, by its hostname") {
    others_have(better_nodes(1));
    have_class(begin + R"("kubernetes.io/hostname","values":["host-a"]}]}])");
    CHECK(work() == RequeueAfter());
    CHECK(taken() == 1);
    return;
  }
  SUBCASE("perhaps the one that is before it, by another label") {
    others_have(better_nodes(1));
    have_class(begin + R"("zone","values":["1"]}]}])");
    CHECK(work() == RequeueAfter(kRankPause));
  }
  CHECK(taken() == 0);
}

TEST_CASE_FIXTURE(RankLab,
                  "a node that is cordoned or not Ready takes none, and looks again soon") {
  SUBCASE("cordoned") { have_node(R"("unschedulable":true)"); }
  SUBCASE("not Ready") { have_node("", false); }
  CHECK(work() == RequeueAfter(seconds(5)));
  CHECK(taken() == 0);
  have_node("");
  manual.advance(seconds(5));
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab,
                  "claims that are late-binding, bound, going, chosen or not ours are left alone") {
  for (const auto& change : std::vector<std::function<void(Claim&)>>{
           [](Claim& c) { c.marked = false; }, [](Claim& c) { c.volume_name = "pv"; },
           [](Claim& c) { c.selected_node = "other"; },
           [](Claim& c) { c.storage_class = "none"; }}) {
    Claim other = claim;
    change(other);
    know_claim(other);
    CHECK_FALSE(placer.notice("shop/data"));
    CHECK(work() == RequeueAfter());
  }
  know_claim(claim);
  put(classes, class_text());
  CHECK(work() == RequeueAfter());
  CHECK(placer.asking().empty());
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(RankLab, "what no node could make is taken by none") {
  claim.requested = "1Mi";
  know_claim(claim);
  CHECK(work() == RequeueAfter());
  CHECK(journal.empty());
}

}  // namespace flexlocal::provisioner::test
