#include "provisioner/controller/claims/immediate_plan.h"

#include <doctest/doctest.h>

#include <deque>

#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture {
  std::deque<Node> nodes;
  std::deque<NodeHeartbeat> beats;
  std::vector<NodeChoice> choices;
  StorageClass storage_class;
  WantedVolume wanted{{"pvc-1", engine::Backend::kLvm, "fast", kGiB}};

  NodeChoice& add(const std::string& name, Bytes free) {
    Node& node = nodes.emplace_back();
    node.name = name;
    node.ready = true;
    node.labels = {{"zone", concat_zone(name)}, {"disk", "nvme"}};
    NodeHeartbeat& beat = beats.emplace_back();
    beat.report.pools["fast"]["lvm"] = {free, free};
    NodeHealth health;
    health.exists = health.has_lease = true;
    return choices.emplace_back(NodeChoice{{node, health, &beat}, Bytes(0)});
  }
  static std::string concat_zone(const std::string& name) { return "zone-of-" + name; }
  std::string chosen() const { return choose_node(choices, storage_class, wanted); }
  static Bytes gib(std::uint64_t count) { return Bytes(count * kGiB.count()); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "the node with most left is chosen, and the first by name of equal ones") {
  CHECK(chosen().empty());
  add("c", gib(2));
  add("b", gib(3));
  add("a", gib(2));
  CHECK(chosen() == "b");
  wanted.promise.size = gib(4);
  CHECK(chosen().empty());
  wanted.promise.size = kGiB;
  beats[1].report.trouble = "disk on fire";
  CHECK(chosen() == "a");
}

TEST_CASE_FIXTURE(Fixture, "what is assigned already is not given away twice") {
  add("a", gib(3)).assigned = gib(2);
  CHECK(chosen() == "a");
  add("b", gib(2));
  CHECK(chosen() == "b");
  choices.back().assigned = gib(2);
  CHECK(chosen() == "a");
  choices.front().assigned = gib(2) + Bytes(1);
  CHECK(chosen().empty());
}

TEST_CASE_FIXTURE(Fixture, "the RAM budget counts where it leaves less than the disks") {
  add("a", gib(100));
  beats.back().report.budget.emplace();
  beats.back().report.budget->memory = kGiB;
  beats.back().report.given["fast"] = gib(25);
  add("b", gib(3));
  CHECK(chosen() == "b");
  beats.front().report.given["fast"] = gib(20);
  CHECK(chosen() == "a");
  wanted.of_class = Ratio::of_millionths(Ratio::kOne);
  CHECK(chosen() == "b");
}

TEST_CASE_FIXTURE(Fixture, "a node that cannot make volumes, or is cordoned, is not chosen") {
  NodeHealth& silent = add("a", gib(9)).view.health;
  silent.silent_for = kHeartbeatDuration + std::chrono::seconds(1);
  silent.confirmed = true;
  add("b", gib(8));
  nodes.back().cordoned = true;
  add("c", gib(7));
  beats.back().report.trouble = "disk on fire";
  add("d", gib(2));
  CHECK(chosen() == "d");
}

TEST_CASE_FIXTURE(Fixture, "only nodes that the class allows are chosen") {
  add("a", gib(9));
  add("b", gib(2));
  storage_class.allowed_topologies = {{{"zone", {"zone-of-b", "zone-of-c"}}, {"disk", {"nvme"}}}};
  CHECK(chosen() == "b");
  storage_class.allowed_topologies.front()["disk"] = {"hdd"};
  CHECK(chosen().empty());
  storage_class.allowed_topologies.push_back({{"zone", {"zone-of-a"}}});
  CHECK(chosen() == "a");
  storage_class.allowed_topologies = {{{"rack", {"1"}}}};
  CHECK(chosen().empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "a hostname alone rules a node out only when every term asks for others") {
  const std::string key(kHostnameLabel);
  CHECK(is_allowed_hostname(storage_class, "a"));
  storage_class.allowed_topologies = {{{key, {"b", "c"}}, {"disk", {"nvme"}}}};
  CHECK(is_allowed_hostname(storage_class, "c"));
  CHECK_FALSE(is_allowed_hostname(storage_class, "a"));
  storage_class.allowed_topologies.push_back({{"disk", {"nvme"}}});
  CHECK(is_allowed_hostname(storage_class, "a"));
}

}  // namespace flexlocal::provisioner::test
