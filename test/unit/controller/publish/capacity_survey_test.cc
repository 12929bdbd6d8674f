#include "provisioner/controller/publish/capacity_survey.h"

#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;
using Calls = std::vector<std::string>;

const std::string kDiscovery = "GET /apis/storage.k8s.io/v1";
const std::string kList =
    "GET /apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities"
    "?labelSelector=flexlocal.io%2Fimmediate&resourceVersion=0";

struct Fixture : ClusterLab {
  int done = 0;
  CapacitySurvey survey{api, classes, "ns", manual, log, [this] { ++done; }};

  Fixture() {
    put(classes, with(class_text(), "WaitForFirstConsumer", "Immediate"));
    answers[kDiscovery] = {{200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
    answers[kList] = {list({})};
  }
  static std::string object(const std::string& node, const std::string& storage_class,
                            const std::string& sizes) {
    return concat(R"({"metadata":{"name":"x","labels":{"flexlocal.io/node":")", node,
                  R"("}},"nodeTopology":{"matchLabels":{"kubernetes.io/hostname":"host-of-)", node,
                  R"("}},"storageClassName":")", storage_class, R"(",)", sizes, '}');
  }
  static Answer list(const std::vector<std::string>& items) {
    return {200, concat(R"({"kind":"CSIStorageCapacityList","metadata":{"resourceVersion":"7"},)",
                        R"("items":[)", join(items, ","), "]}")};
  }
  Status look() { return wait_for(survey.look()); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "what nodes tell of Immediate classes is kept, from the server's cache") {
  answers[kList] = {list(
      {object("b", "local", R"("capacity":"2Gi","maximumVolumeSize":"1Gi")"),
       object("c", "local", R"("capacity":"3Gi")"), object("d", "other", R"("capacity":"3Gi")"),
       object("", "local", R"("capacity":"3Gi")"), object("e", "local", R"("capacity":"much")")})};
  CHECK(look().ok());
  CHECK(journal == Calls{kDiscovery, kList});
  CHECK(done == 1);
  const auto* const told = survey.rooms_for("local");
  REQUIRE(told != nullptr);
  REQUIRE(told->nodes.size() == 3);
  REQUIRE(told->hostnames.size() == 3);
  CHECK(told->nodes[0].node == hash_of_node("b"));
  CHECK(told->hostnames[0] == "host-of-b");
  CHECK(told->nodes[0].room == kGiB);
  CHECK(told->nodes[1].room == Bytes(3 * kGiB.count()));
  CHECK(told->nodes[2].room == Bytes(0));
}

TEST_CASE_FIXTURE(Fixture, "a list is good for a while, not for ever, nor for a class made since") {
  CHECK(survey.rooms_for("local") == nullptr);
  CHECK(look().ok());
  CHECK(survey.rooms_for("local") != nullptr);
  CHECK(survey.rooms_for("new") == nullptr);
  manual.advance(CapacitySurvey::kGoodFor - seconds(1));
  CHECK(survey.rooms_for("local") != nullptr);
  manual.advance(CapacitySurvey::kGoodFor + seconds(1));
  CHECK(survey.rooms_for("local") == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "it is listed at first, then when somebody asks, and once for all") {
  tasks.spawn(survey.run());
  REQUIRE(run_until([&] { return done == 1; }));
  settle();
  journal.clear();
  CHECK(survey.last_rooms("local") != nullptr);
  CHECK(survey.rooms_for("local") == nullptr);  // the first list is there to wait by, only
  CHECK(survey.rooms_for("local") == nullptr);
  REQUIRE(run_until([&] { return done == 2; }));
  settle();
  CHECK(journal == Calls{kList});
  CHECK(survey.rooms_for("local") != nullptr);
  settle();
  CHECK(journal.size() == 1);
  manual.advance(2 * CapacitySurvey::kGoodFor);
  survey.rooms_for("local");
  REQUIRE(run_until([&] { return done == 3; }));
  CHECK(journal == Calls{kList, kList});
}

TEST_CASE_FIXTURE(Fixture, "a failure is told and tried again") {
  answers[kList] = {{403, refused("Forbidden")}, list({})};
  tasks.spawn(survey.run());
  survey.rooms_for("local");
  REQUIRE(run_until([&] { return done == 1; }));
  CHECK(std::count(journal.begin(), journal.end(), kList) == 2);
  CHECK(log.has("what other nodes have room for is not known"));
}

TEST_CASE_FIXTURE(Fixture, "an answer that is no list is none, and one that is cut off neither") {
  for (const std::string& text : Calls{"{}", R"({"metadata":{"resourceVersion":"7"},"items":[{)"}) {
    answers[kList] = {{200, text}};
    CHECK_FALSE(look().ok());
    CHECK(survey.rooms_for("local") == nullptr);
  }
  CHECK(done == 0);
}

TEST_CASE_FIXTURE(Fixture, "the version is looked for again when the API server is another one") {
  CHECK(look().ok());
  answers[kList] = {{404, refused("NotFound")}, list({})};
  CHECK_FALSE(look().ok());
  CHECK(look().ok());
  CHECK(journal == Calls{kDiscovery, kList, kList, kDiscovery, kList});
  answers[kDiscovery] = {{404, refused("NotFound")}};
  answers[kDiscovery + "beta1"] = answers[kDiscovery + "alpha1"] = {{404, refused("NotFound")}};
  answers[kList] = {{404, refused("NotFound")}};
  CHECK_FALSE(look().ok());
  const auto none = look();
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().message() == "this API server has no CSIStorageCapacity");
}

}  // namespace flexlocal::provisioner::test
