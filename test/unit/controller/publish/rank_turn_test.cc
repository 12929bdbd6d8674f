// When it is this node's turn.
#include "test/unit/controller/publish/rank_lab.h"

namespace flexlocal::provisioner::test {

using std::chrono::seconds;

TEST_CASE_FIXTURE(RankLab,
                  "behind others, it steps in after a pause for each, if the claim waits") {
  others_have(better_nodes(2));
  CHECK(work() == RequeueAfter(2 * kRankPause));
  manual.advance(seconds(3));
  others_have(better_nodes(2));
  CHECK(work() == RequeueAfter(2 * kRankPause - seconds(3)));
  CHECK(taken() == 0);
  SUBCASE("it does") {
    manual.advance(2 * kRankPause - seconds(3));
    CHECK(work() == RequeueAfter());
    CHECK(taken() == 1);
  }
  SUBCASE("somebody has taken it") {
    put(claims, chosen("other-1"));
    manual.advance(2 * kRankPause);
    CHECK(work() == RequeueAfter());
    CHECK(taken() == 0);
  }
}

TEST_CASE_FIXTURE(RankLab, "far behind, it asks again who is before it when the list is old") {
  others_have(better_nodes(9));
  CHECK(work() == RequeueAfter(seconds(30)));
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 0);
  others_have(better_nodes(4));
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "the pauses begin anew when the claim waits anew") {
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter(kRankPause));
  manual.advance(seconds(4));
  put(claims, chosen("other-1"));
  CHECK_FALSE(placer.notice("shop/data"));
  know_claim(claim);
  CHECK(work() == RequeueAfter(kRankPause));
}

TEST_CASE_FIXTURE(RankLab, "while those that are first are slow, the pauses are longer") {
  const std::string better = better_nodes(1).front();
  others_have({better});
  CHECK(work() == RequeueAfter(kRankPause));
  manual.advance(seconds(4));
  put(claims, chosen(better));  // the first took four seconds
  know_claim(claim);
  CHECK(work() == RequeueAfter(seconds(8)));
  manual.advance(RankPause::kForget);
  others_have({better});
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "not far behind, it looks again soon, for pauses get shorter") {
  const std::string better = better_nodes(1).front();
  others_have({better});
  CHECK(work() == RequeueAfter(kRankPause));
  manual.advance(seconds(40));
  put(claims, chosen(better));
  know_claim(claim);
  CHECK(work() == RequeueAfter(seconds(10)));  // not 80
  manual.advance(3 * RankPause::kForget);
  others_have({better});
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "what was taken out of turn says nothing of those that are first") {
  others_have(better_nodes(2));
  CHECK(work() == RequeueAfter(2 * kRankPause));
  manual.advance(seconds(9));
  put(claims, chosen(kNode));  // the third
  know_claim(claim);
  manual.advance(seconds(30));
  others_have(better_nodes(2));
  CHECK(work() == RequeueAfter(2 * kRankPause));
}

TEST_CASE_FIXTURE(RankLab, "pauses count from when a node knows its place") {
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RequeueAfter());  // the list is too old
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter(kRankPause));
}

TEST_CASE_FIXTURE(RankLab, "without a list that is good it waits for one") {
  manual.advance(2 * CapacitySurvey::kGoodFor);
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 0);
  CHECK(placer.asking() == std::vector<std::string>{"shop/data"});
  others_have({});
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
  CHECK(placer.asking().empty());
}

TEST_CASE_FIXTURE(RankLab, "a pause has room for what the firsts have to take before") {
  std::vector<std::string> names(100);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = concat("other-", i);
  know_more(names);
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter(kRankPause + time_to_take(100, 1)));
}

TEST_CASE_FIXTURE(RankLab, "an old list is good to wait by, once, and none is asked for") {
  others_have(better_nodes(1));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  CHECK(work() == RequeueAfter(kRankPause));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(kRankPause);
  CHECK(work() == RequeueAfter());
  CHECK(survey.is_wanted());
  CHECK(taken() == 0);
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter());
  CHECK(taken() == 1);
}

TEST_CASE_FIXTURE(RankLab, "behind others by an old list, a claim takes no pass until its turn") {
  others_have(better_nodes(2));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  put(claims, claim_text(claim));
  CHECK(placer.others_first("shop/data") == RequeueAfter(2 * kRankPause));
  manual.advance(kRankPause);
  CHECK(placer.others_first("shop/data") == RequeueAfter(kRankPause));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(kRankPause);
  CHECK(placer.others_first("shop/data") == RequeueAfter());
  CHECK(placer.others_first("shop/none") == RequeueAfter());
  put(claims, chosen("other-1"));
  CHECK(placer.others_first("shop/data") == RequeueAfter());
}

TEST_CASE_FIXTURE(RankLab, "what others are long first for is looked at again in a round, once") {
  others_have(better_nodes(9));
  CHECK(placer.others_first("shop/data") == RequeueAfter(seconds(30)));
  CHECK(placer.next_round().empty());
  manual.advance(seconds(30) - RankPlacer::kRound);
  SUBCASE("it waits") {
    CHECK(placer.next_round() == std::vector<std::string>{"shop/data"});
    CHECK(placer.next_round().empty());
  }
  SUBCASE("it was looked at meanwhile, and its turn has come") {
    CHECK(placer.others_first("shop/data") == RequeueAfter());
    CHECK(placer.next_round().empty());
  }
  SUBCASE("it is taken") {
    put(claims, chosen("other-1"));
    CHECK(placer.next_round().empty());
  }
  SUBCASE("it is another claim") {
    claim.uid = kOtherUid;
    know_claim(claim);
    CHECK(placer.next_round().empty());
  }
}

TEST_CASE_FIXTURE(RankLab, "a far node asks for a list when the first ones have had their time") {
  others_have(better_nodes(9));
  manual.advance(20 * CapacitySurvey::kGoodFor);
  CHECK(work() == RequeueAfter(seconds(30)));
  manual.advance(4 * kRankPause - seconds(1));
  CHECK(work() == RequeueAfter(seconds(26)));
  CHECK_FALSE(survey.is_wanted());
  manual.advance(seconds(1));
  CHECK(work() == RequeueAfter());
  CHECK(survey.is_wanted());
}

TEST_CASE_FIXTURE(RankLab, "a node that no other is before, or that has no room, takes a pass") {
  CHECK(placer.others_first("shop/data") == RequeueAfter());
  others_have(better_nodes(1));
  room = kMiB;
  CHECK(placer.others_first("shop/data") == RequeueAfter());
}

TEST_CASE_FIXTURE(RankLab, "the longer a claim waits, the longer until it is looked at again") {
  const auto begun = manual.now();
  for (const int waited : {0, 30, 30, 60, 120, 240, 300}) {
    manual.advance(seconds(waited));
    others_have(better_nodes(400));
    const auto expected =
        std::clamp<std::chrono::nanoseconds>(manual.now() - begun, seconds(30), seconds(300));
    CHECK(work() == RequeueAfter(expected));
  }
}

TEST_CASE_FIXTURE(RankLab, "nodes whose turn it is not ask for nothing") {
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter(kRankPause));
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(RankLab, "a claim of the same name is another claim") {
  others_have(better_nodes(1));
  CHECK(work() == RequeueAfter(kRankPause));
  manual.advance(seconds(4));
  claim.uid = kOtherUid;
  know_claim(claim);
  const auto better = better_nodes(1);
  others_have(better);
  CHECK(work() == RequeueAfter(kRankPause));
}

}  // namespace flexlocal::provisioner::test
