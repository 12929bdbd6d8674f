// A PersistentVolume whose order is not to be used: nothing is done by it, and that is said.
#include <algorithm>

#include "provisioner/agent/growth_worker.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : NodeLab {
  VolumeWorker worker{parts};
  const std::string name = "pvc-" + kUid;

  // The annotation as it stands in a PersistentVolume.
  static std::string annotation(const std::string& order) {
    JsonWriter json;
    json.begin_object().member(kOrder, order).end_object();
    const std::string object = json.take();
    return object.substr(1, object.size() - 2);
  }

  struct Damage {
    std::string volume;
    std::string words;
  };
  static std::vector<Damage> damaged(const std::string& phase) {
    const std::string order = order_text(sample_order());
    engine::VolumeSpec other_copy = sample_spec();
    other_copy.copy = "fedcba9876543210";
    const auto with_order = [&](const std::string& text) {
      return with(volume_text(sample_spec(), phase), annotation(order), annotation(text));
    };
    return {{with(volume_text(sample_spec(), phase), concat(',', annotation(order)), ""),
             "order is missing"},
            {with_order(order.substr(0, order.size() / 2)), "order is damaged"},
            {with_order(order_text(sample_order(sample_spec(kOtherUid)))),
             "order is that of pvc-" + kOtherUid},
            {with_order(order_text(sample_order(other_copy))), "order is that of copy"},
            {with_order(order + std::string(kMostOrderText, ' ')), "more than 16384 bytes"}};
  }

  // Known to the informer, and what the API server says when it is asked.
  void have_volume(const std::string& volume) {
    know_volume(volume);
    answers["GET " + kVolumePath] = {{200, volume}};
  }
  ErrorCode failure() {
    const auto worked = wait_for(worker.work(name));
    REQUIRE_FALSE(worked.ok());
    return worked.error().code();
  }
  bool did(std::string_view what) const {
    return std::any_of(journal.begin(), journal.end(),
                       [&](const std::string& call) { return call.starts_with(what); });
  }
  Bytes free_for_others() {
    const auto room = ledger.room({"pvc-other", engine::Backend::kLvm, "default", kGiB}, "other");
    REQUIRE(room.ok());
    return room->free;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "it is not removed, and the event says what to put back") {
  for (const Damage& damage : damaged("Released")) {
    have_volume(damage.volume);
    CHECK(failure() == ErrorCode::kInvalid);
  }
  CHECK_FALSE(did("remove "));
  CHECK_FALSE(did("DELETE "));
  CHECK_FALSE(did("PATCH "));
  have_volume(volume_text(sample_spec(), "Released"));
  CHECK(wait_for(worker.work(name)).ok());
  CHECK(did("remove " + name));
  const std::string told = events_written();
  for (const Damage& damage : damaged("Released"))
    CHECK(told.find(damage.words) != std::string::npos);
  CHECK(told.find("put back what it said when the volume was made") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "it is neither marked as retained nor let go of") {
  for (const Damage& damage : damaged("Released")) {
    const std::string retained = with(damage.volume, R"(Policy":"Delete")", R"(Policy":"Retain")");
    have_volume(with(retained, R"("uid":"uid-of-pv")",
                     R"("uid":"uid-of-pv","deletionTimestamp":"2021-03-01T11:00:00Z")"));
    CHECK(failure() == ErrorCode::kInvalid);
  }
  CHECK(journal.empty());
}

TEST_CASE_FIXTURE(Fixture, "it does not grow, and its claim is told why") {
  GrowthWorker grower(parts);
  storage.present.holdings = {{name, "group:vg", kGiB}};
  know_claim(bound_claim("2Gi"));
  for (const Damage& damage : damaged("Bound")) {
    have_volume(damage.volume);
    const Status grown = wait_for(grower.work("shop/data"));
    REQUIRE_FALSE(grown.ok());
    CHECK(grown.error().message().find(damage.words) != std::string::npos);
  }
  CHECK_FALSE(did("grow "));
  CHECK_FALSE(did("PATCH " + kVolumePath));
  CHECK(events_written().find("the volume cannot grow: PersistentVolume pvc-") !=
        std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the ledger counts it while its order can be used, and not otherwise") {
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  for (std::size_t i = 0; i < damaged("Bound").size(); ++i) {
    know_volume(damaged("Bound")[i].volume);
    CHECK(free_for_others() == kGiB + kGiB);
    know_volume(volume_text(sample_spec(), "Bound"));
    CHECK(free_for_others() == kGiB);
  }
}

TEST_CASE_FIXTURE(Fixture, "a record that lacks its claim is not completed by it") {
  storage.present.claims = {{name, {kCluster, ""}}};
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  for (const Damage& damage : damaged("Bound")) {
    know_volume(damage.volume);
    CHECK(failure() == ErrorCode::kInvalid);
  }
  CHECK(journal.empty());
  know_volume(volume_text(sample_spec(), "Bound"));
  CHECK(wait_for(worker.work(name)).ok());
  CHECK(did("record ReadWriteOnce of " + name));
}

}  // namespace flexlocal::provisioner::test
