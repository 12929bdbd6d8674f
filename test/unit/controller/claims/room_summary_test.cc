#include "provisioner/controller/claims/room_summary.h"

#include <doctest/doctest.h>

#include <deque>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture {
  std::deque<Node> nodes;
  std::deque<NodeHeartbeat> beats;
  std::vector<NodeView> views;
  Promise wanted{"pvc-1", engine::Backend::kLvm, "fast", kGiB};

  NodeHeartbeat& add(Bytes free) {
    nodes.push_back({"n", true, false});
    beats.emplace_back();
    beats.back().report.pools["fast"]["lvm"] = {kGiB, free};
    NodeHealth health;
    health.exists = health.has_lease = true;
    views.push_back({nodes.back(), health, &beats.back()});
    return beats.back();
  }
  std::optional<std::string> summary() const { return no_room_anywhere(views, {wanted}); }
  std::optional<NoRoom> last() const { return no_room_on(views.back(), {wanted}); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "one node with room is enough, also to the last byte") {
  add(Bytes(0));
  add(kGiB);
  CHECK_FALSE(summary().has_value());
}

TEST_CASE_FIXTURE(Fixture, "room where nobody who looks may order is none, and that is said") {
  add(Bytes(0));
  add(kGiB);
  views.back().barred = NoRoom::kOrdersItself;
  CHECK(summary() ==
        "0 of 2 nodes have 1Gi in pool \"fast\" for backend lvm: 1 pool full, 1 gives its own "
        "orders (--provisioning=distributed)");
  beats.back().report.trouble = "LVM hangs";
  CHECK(last() == NoRoom::kDaemonNotReady);
}

TEST_CASE_FIXTURE(Fixture, "each node counts once, by its first reason") {
  add(kGiB - Bytes(1));
  CHECK(last() == NoRoom::kPoolFull);
  add(kGiB).report.pools.clear();
  CHECK(last() == NoRoom::kNoPool);
  add(kGiB).report.pools["fast"] = {{"thin", {kGiB, kGiB}}};
  CHECK(last() == NoRoom::kNoPool);
  add(Bytes(0)).report.trouble = "the volume group is gone";
  CHECK(last() == NoRoom::kDaemonNotReady);
  add(kGiB);
  views.back().health.silent_for = kHeartbeatDuration + std::chrono::seconds(1);
  views.back().health.confirmed = true;
  CHECK(last() == NoRoom::kNoDaemon);
  add(kGiB);
  views.back().beat = nullptr;
  CHECK(last() == NoRoom::kNoDaemon);
  add(kGiB);
  nodes.back().ready = false;
  CHECK(last() == NoRoom::kNodeUnready);
  add(kGiB);
  nodes.back().cordoned = true;
  CHECK(last() == NoRoom::kCordoned);
  CHECK(summary() ==
        "0 of 8 nodes have 1Gi in pool \"fast\" for backend lvm: 2 no node daemon, 2 no such pool, "
        "1 node not ready, 1 node daemon not ready, 1 pool full, 1 cordoned");
}

TEST_CASE_FIXTURE(Fixture, "why one node has no room is said with its figures") {
  NodeReport& report = add(kGiB).report;
  const auto shortage = [&](Bytes uncounted) {
    return shortage_on(views.back(), {wanted}, uncounted);
  };
  CHECK_FALSE(shortage(Bytes()).has_value());
  CHECK(shortage(kMiB) == "pool \"fast\" has 1023 MiB free for backend lvm, 1 GiB asked");
  report.pools["fast"]["lvm"].free = Bytes(64 * kGiB.count());
  report.budget = NodeBudget{.memory = kGiB, .ram_fraction = Ratio::of_millionths(Ratio::kOne)};
  report.given["fast"] = Bytes(31 * kGiB.count());
  CHECK_FALSE(shortage(Bytes()).has_value());
  CHECK(
      shortage(kMiB) ==
      "pool \"fast\" has 1023 MiB left of its RAM budget of 32 GiB (1 GiB of RAM x 1 x 32), 1 GiB "
      "asked");
  report.trouble = "the volume group is gone";
  CHECK(shortage(Bytes()) == "node daemon not ready: the volume group is gone");
  views.back().beat = nullptr;
  CHECK(shortage(Bytes()) == "no node daemon");
}

TEST_CASE_FIXTURE(Fixture,
                  "a node's budget counts once its disks have room, by the class's ratio") {
  NodeReport& report = add(kGiB).report;
  report.budget = NodeBudget{.memory = kGiB, .ram_fraction = Ratio::of_millionths(Ratio::kOne)};
  report.given["fast"] = Bytes(31 * kGiB.count());
  report.given["slow"] = kMostBytes;
  CHECK_FALSE(last().has_value());
  report.given["fast"] += Bytes(1);
  CHECK(last() == NoRoom::kBudget);
  CHECK(summary() == "0 of 1 nodes have 1Gi in pool \"fast\" for backend lvm: 1 RAM budget");
  CHECK_FALSE(no_room_on(views.back(), {wanted, Ratio()}).has_value());
  CHECK_FALSE(no_room_on(views.back(), {wanted, Ratio::of_millionths(33'000'000)}).has_value());
  report.pools["fast"]["lvm"].free = Bytes(0);
  CHECK(last() == NoRoom::kPoolFull);
}

TEST_CASE_FIXTURE(Fixture,
                  "a layout that takes more than a volume has, has less room than is free") {
  PoolFigures& figures = add(kGiB + kGiB).report.pools["fast"]["lvm"];
  figures.largest = kGiB - kMiB;
  CHECK(last() == NoRoom::kPoolFull);
  CHECK(shortage_on(views.back(), {wanted}, kMiB) ==
        R"(pool "fast" has 1.99 GiB free for backend lvm, 1 GiB asked, and one volume can have )"
        R"(1022 MiB)");
  figures.largest = kGiB;
  CHECK_FALSE(last());
}

TEST_CASE_FIXTURE(Fixture,
                  "sizes are rounded as the node's disks do, and rooms to what they hold") {
  PoolFigures& figures = add(kGiB + kMiB).report.pools["fast"]["lvm"];
  CHECK(size_on(views.back(), wanted) == kGiB);
  CHECK(largest_on(views.back(), {wanted}) == kGiB + kMiB);
  figures.unit = Bytes(3 * kMiB.count());
  CHECK(size_on(views.back(), wanted) == kGiB + kMiB + kMiB);
  wanted.size = figures.unit;
  CHECK(size_on(views.back(), wanted) == figures.unit);
  CHECK(largest_on(views.back(), {wanted}) == kGiB - kMiB);
  views.back().beat = nullptr;
  wanted.size = kGiB;
  CHECK(size_on(views.back(), wanted) == kGiB);
}

TEST_CASE_FIXTURE(Fixture, "a cluster without nodes has no room either") {
  CHECK(summary() == "0 of 0 nodes have 1Gi in pool \"fast\" for backend lvm");
}

}  // namespace flexlocal::provisioner::test
