#include "provisioner/agent/node_memory.h"

#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

const std::string kNodeRead = "GET /api/v1/nodes/node-a?resourceVersion=0";

NodeLab::Answer node_with(const std::string& memory) {
  return {200, R"({"status":{"capacity":{"memory":")" + memory + R"("}}})"};
}

struct Fixture : NodeLab {
  NodeBudget budget{kGiB};
  NodeMemory memory{api, log, kNode, budget};

  void follow() { tasks.spawn(memory.follow(std::chrono::milliseconds(1))); }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a node's memory is followed, up and down, as long as it is said") {
  answers[kNodeRead] = {node_with("2Gi")};
  follow();
  CHECK(run_until([&] { return budget.memory == kGiB + kGiB; }));
  answers[kNodeRead] = {node_with("512Mi")};
  CHECK(run_until([&] { return budget.memory == Bytes(512 * kMiB.count()); }));
  const std::size_t asked = http.seen.size();
  answers[kNodeRead] = {node_with("much")};
  CHECK(run_until([&] { return http.seen.size() >= asked + 2; }));
  CHECK(budget.memory == Bytes(512 * kMiB.count()));
}

TEST_CASE_FIXTURE(Fixture, "a Node that cannot be read leaves what is known, and is told once") {
  answers[kNodeRead] = {{500, NodeLab::refused("InternalError")}};
  follow();
  CHECK(run_until([&] { return http.seen.size() >= 3; }));
  CHECK(budget.memory == kGiB);
  CHECK(log.lines.size() == 1);
  CHECK(log.has("the Node object cannot be read"));
}

}  // namespace flexlocal::provisioner::test
