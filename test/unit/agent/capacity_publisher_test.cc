#include "provisioner/agent/capacity_publisher.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::seconds;
using Calls = std::vector<std::string>;

const std::string kFolder = "/apis/storage.k8s.io/v1/namespaces/ns/csistoragecapacities";
const std::string kSet = "GET /apis/apps/v1/namespaces/ns/daemonsets/flexlocal-node";
const std::string kDiscovery = "GET /apis/storage.k8s.io/v1";
const std::string kMake = "POST " + kFolder;

CapacityOptions options() {
  CapacityOptions made;
  made.enabled = true;
  made.namespace_name = "ns";
  made.daemon_set = "flexlocal-node";
  return made;
}

// Two GiB of disk, and one class.
struct Fixture : NodeLab {
  std::optional<bool> usable = true;
  CapacityPublisher publisher{parts, options(), [this] { return usable; }};
  const std::string path = concat(kFolder, '/', capacity_name(parts.node, "local"));
  const std::string patch = "PATCH " + path;

  Fixture() {
    know_class();
    answers[kDiscovery] = {{200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
    answers[kSet] = {{200, R"({"metadata":{"uid":"uid-of-set"}})"}};
  }
  Status look() { return wait_for(publisher.look()); }
  // What was told by the calls of the last look, in order.
  Calls told() {
    Calls bodies;
    for (; seen_ < http.seen.size(); ++seen_)
      if (http.seen[seen_].target.starts_with(kFolder)) bodies.push_back(http.seen[seen_].body);
    return bodies;
  }
  static std::string sizes(std::string_view size) {
    return concat(R"({"metadata":{"labels":{"flexlocal.io/immediate":null}},"capacity":")", size,
                  R"(","maximumVolumeSize":")", size, R"("})");
  }

 private:
  std::size_t seen_ = 0;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the first time the object is made, with the DaemonSet as its owner") {
  answers[patch] = {{404, refused("NotFound")}};
  CHECK(look().ok());
  CHECK(journal == Calls{kDiscovery, kSet, patch, kMake});
  CHECK(told().back() ==
        capacity_json({"storage.k8s.io/v1", "ns", {"flexlocal-node", "uid-of-set"}}, parts.node,
                      *classes.get("local"), Bytes(2 * kGiB.count())));
}

TEST_CASE_FIXTURE(Fixture, "one that was made before is changed, and is not told again") {
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi")});
  CHECK(look().ok());
  CHECK(told().empty());
  CHECK(journal.size() == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "what is taken is told at the next look, and what a claim reserves, too") {
  CHECK(look().ok());
  told();
  ledger.reserve("shop/data", sample_spec());
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("1Gi")});
  know_volume(volume_text(sample_spec(), "Bound"));
  ledger.release("shop/data");
  CHECK(look().ok());
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(Fixture, "what became free is known when the disks were looked at again, soon") {
  storage.free() = kGiB;
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("1Gi")});
  storage.free() = kGiB + kGiB;
  ledger.forget();
  manual.advance(seconds(1));
  CHECK(look().ok());
  CHECK(told().empty());
  manual.advance(seconds(1));
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi")});
  CHECK(storage.looks == 2);
}

TEST_CASE_FIXTURE(Fixture, "what a removal makes free while the disks are looked at is told soon") {
  storage.free() = kGiB;
  storage.hold_look = true;
  std::optional<Status> looked;
  tasks.spawn(kube::test::store(publisher.look(), looked));
  REQUIRE(run_until([&] { return storage.looks > 0; }));
  storage.free() = kGiB + kGiB;
  ledger.forget();
  storage.go.notify_all();
  REQUIRE(run_until([&] { return looked.has_value(); }));
  CHECK(looked->ok());
  CHECK(told() == Calls{sizes("1Gi")});
  manual.advance(seconds(2));
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi")});
}

TEST_CASE_FIXTURE(Fixture, "a little more is told only to a claim that waits for it, or in time") {
  storage.free() = kGiB;
  CHECK(look().ok());
  told();
  storage.free() += Bytes(4 * kMiB.count());
  const auto look_again = [&] {
    CHECK(wait_for(ledger.refresh(true)).ok());
    CHECK(look().ok());
    return told();
  };
  CHECK(look_again().empty());
  Claim claim = sample_claim();
  claim.requested = "1028Mi";
  know_claim(claim);
  CHECK(look_again() == Calls{sizes("1028Mi")});
  storage.free() += Bytes(4 * kMiB.count());
  CHECK(look_again().empty());
  manual.advance(seconds(60));
  CHECK(look_again() == Calls{sizes("1032Mi")});
}

TEST_CASE_FIXTURE(Fixture, "each is written anew in time: somebody may have removed it") {
  CHECK(look().ok());
  told();
  manual.advance(seconds(59));
  CHECK(look().ok());
  CHECK(told().empty());
  manual.advance(seconds(1));
  answers[patch] = {{404, refused("NotFound")}};
  CHECK(look().ok());
  CHECK(journal.back() == kMake);
}

TEST_CASE_FIXTURE(
    Fixture,
    "a daemon that cannot make volumes has no room; one that has just begun says nothing") {
  usable = std::nullopt;
  CHECK(look().ok());
  CHECK(told().empty());
  usable = false;
  storage.inventory_status = Error(ErrorCode::kFailed, "disk on fire");
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("0")});
  storage.inventory_status = {};
  usable = true;
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi")});
}

TEST_CASE_FIXTURE(Fixture, "no object is made to say that there is no room") {
  storage.free() = Bytes(0);
  answers[patch] = {{404, refused("NotFound")}};
  CHECK(look().ok());
  CHECK(journal.back() == patch);
  CHECK(look().ok());
  CHECK(journal.size() == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "a class that no claim can use has no room, and one that goes is forgotten") {
  put(classes,
      with(class_text(), R"("reclaimPolicy")", R"("parameters":{"poool":"fast"},"reclaimPolicy")"));
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("0")});
  put(classes, with(class_text(), "flexlocal.io", "other.io"));
  manual.advance(seconds(60));
  CHECK(look().ok());
  CHECK(told().empty());
  know_class();
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi")});
}

TEST_CASE_FIXTURE(Fixture, "a failure is an error, and what was not told is told the next time") {
  answers[patch] = {{503, "{}"}, {200, "{}"}};
  const Status looked = look();
  REQUIRE_FALSE(looked.ok());
  CHECK(looked.error().message().starts_with("telling the room for class local"));
  CHECK(look().ok());
  CHECK(told() == Calls{sizes("2Gi"), sizes("2Gi")});
}

TEST_CASE_FIXTURE(Fixture, "a collection that is gone is looked for anew") {
  CHECK(look().ok());
  manual.advance(seconds(60));
  answers[patch] = {{404, refused("NotFound")}};
  answers[kMake] = {{404, refused("NotFound")}};
  CHECK_FALSE(look().ok());
  answers[kDiscovery] = {{200, R"({"resources":[]})"}};
  answers["GET /apis/storage.k8s.io/v1beta1"] = {
      {200, R"({"resources":[{"name":"csistoragecapacities"}]})"}};
  CHECK(look().ok());
  CHECK(journal.back().starts_with("PATCH /apis/storage.k8s.io/v1beta1/"));
}

TEST_CASE_FIXTURE(Fixture, "without CSIStorageCapacity nothing is told, and that is said once") {
  for (const std::string version : {"v1", "v1beta1", "v1alpha1"})
    answers["GET /apis/storage.k8s.io/" + version] = {{404, refused("NotFound")}};
  CHECK(look().ok());
  CHECK(look().ok());
  CHECK(journal.size() == 6);
  CHECK(std::count_if(log.lines.begin(), log.lines.end(), [](const std::string& line) {
          return line.find("has no CSIStorageCapacity") != std::string::npos;
        }) == 1);
}

TEST_CASE_FIXTURE(Fixture, "a daemon that no DaemonSet runs has objects without an owner") {
  answers[kSet] = {{404, refused("NotFound")}};
  answers[patch] = {{404, refused("NotFound")}};
  CHECK(look().ok());
  CHECK(told().back().find("ownerReferences") == std::string::npos);
  CHECK(log.has("has no owner"));
}

}  // namespace flexlocal::provisioner::test
