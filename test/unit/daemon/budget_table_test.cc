#include "provisioner/daemon/budget_table.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {
namespace {

const Clock::Wall kNow{std::chrono::seconds(1'700'000'000)};

NodeHeartbeat beat_of(const std::string& node, Bytes disk_left, Bytes given) {
  NodeHeartbeat beat;
  beat.node = node;
  beat.renewed = kNow - beat.duration;
  beat.report.pools["default"]["lvm"] = {Bytes(100 * kGiB.count()), disk_left};
  beat.report.budget = NodeBudget{.memory = Bytes(2 * kGiB.count())};  // 54.4 GiB
  beat.report.given["default"] = given;
  return beat;
}

}  // namespace

TEST_CASE("nodes are sorted, and each line says which of RAM and disk ends first") {
  NodeHeartbeat several = beat_of("node-10", Bytes(20 * kGiB.count()), Bytes(30 * kGiB.count()));
  several.report.pools["default"]["thin"] = {kGiB, kGiB};
  several.report.pools["fast"]["lvm"] = {kGiB, kGiB};
  several.report.budget->disk_per_ram = Ratio();
  CHECK(budget_table({several, beat_of("b", kGiB, kGiB),
                      beat_of("a", Bytes(80 * kGiB.count()), Bytes(54 * kGiB.count()))},
                     kNow) ==
        "NODE     POOL     BACKEND  BUDGET     USED    FREE        LIMIT\n"
        "a        default  lvm      54.39 GiB  54 GiB  409.59 MiB  RAM\n"
        "b        default  lvm      54.39 GiB  1 GiB   1 GiB       disk\n"
        "node-10  default  lvm      100 GiB    30 GiB  20 GiB      disk\n"
        "node-10  default  thin     1 GiB      30 GiB  1 GiB       disk\n"
        "node-10  fast     lvm      1 GiB      0 B     1 GiB       disk\n");
}

TEST_CASE("a daemon that is not ready, or gone, says so in place of figures") {
  NodeHeartbeat gone = beat_of("a", kGiB, kGiB);
  *gone.renewed -= std::chrono::seconds(1);
  NodeHeartbeat troubled = beat_of("b", kGiB, kGiB);
  troubled.report.trouble = "vgs: disk on fire";
  CHECK(budget_table({gone, troubled}, kNow) ==
        "NODE  POOL  BACKEND  BUDGET  USED  FREE  LIMIT\n"
        "a     -     -        -       -     -     no sign of life\n"
        "b     -     -        -       -     -     not ready: vgs: disk on fire\n");
}

TEST_CASE("a daemon that knows no budget has its disks as the only limit, and no node is no line") {
  NodeHeartbeat old = beat_of("a", kGiB, kGiB);
  old.report.budget.reset();
  old.report.given.clear();
  CHECK(
      budget_table({old}, kNow).ends_with("a     default  lvm      100 GiB  0 B   1 GiB  disk\n"));
  CHECK(budget_table({}, kNow) == "NODE  POOL  BACKEND  BUDGET  USED  FREE  LIMIT\n");
}

}  // namespace flexlocal::provisioner::test
