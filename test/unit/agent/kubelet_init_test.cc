#include "provisioner/agent/kubelet_init.h"

#include "flexvolume/base/version.h"
#include "provisioner/agent/node_report.h"
#include "test/unit/agent/node_lab.h"

namespace flexlocal::provisioner::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

const Result<engine::InitMark> kNoMark = engine::InitMark();
const Result<engine::InitMark> kOldMark = engine::InitMark("v1");
const Result<engine::InitMark> kRightMark = engine::InitMark("v2");
const Result<engine::InitMark> kNoText =
    Error(ErrorCode::kCorrupt, "/run/flexlocal/kubelet-init is no mark of flexlocal");

std::string said(const Result<engine::InitMark>& mark) {
  const Status trouble = judge_init(mark, "v2", seconds(0)).mark;
  return trouble ? "" : trouble.error().message();
}

bool contains(const std::string& text, std::string_view piece) {
  return text.find(piece) != std::string::npos;
}

struct Fixture : NodeLab {
  KubeletInit& init = kubelet_init;

  // What the daemon finds after so long.
  bool ready_after(std::chrono::nanoseconds time) {
    manual.advance(time);
    return init.look().ok();
  }
  std::size_t warnings() const { return log.lines.size(); }
};

}  // namespace

TEST_CASE("the right mark is right at any time") {
  for (const std::chrono::nanoseconds waited :
       {std::chrono::nanoseconds(0), std::chrono::nanoseconds(minutes(60))}) {
    const InitVerdict verdict = judge_init(kRightMark, "v2", waited);
    CHECK(verdict.mark.ok());
    CHECK_FALSE(verdict.is_late);
    CHECK(verdict.is_ready);
  }
}

TEST_CASE(
    "a mark that is not right is late after 30 s, and none makes a node not ready after 5 min") {
  struct Row {
    std::chrono::nanoseconds waited;
    bool is_late;
    bool is_ready;
  };
  for (const auto& mark : {kNoMark, kOldMark, kNoText})
    for (const Row& row : {Row{seconds(0), false, true}, Row{seconds(29), false, true},
                           Row{seconds(30), true, true}, Row{seconds(299), true, true},
                           Row{minutes(5), true, false}, Row{minutes(60), true, false}}) {
      const InitVerdict verdict = judge_init(mark, "v2", row.waited);
      CHECK_FALSE(verdict.mark.ok());
      CHECK(verdict.is_late == row.is_late);
      CHECK(verdict.is_lasting != row.is_ready);
      // kubelet may not have noticed that the program was replaced, and runs it all the same.
      const bool called = mark.ok() && mark->has_value();
      CHECK(verdict.is_ready == (called || row.is_ready));
    }
}

TEST_CASE("it is said what is wrong and what to do, in few enough words for the Lease") {
  CHECK(contains(said(kNoMark), "has not called"));
  CHECK(contains(said(kNoMark), "--volume-plugin-dir"));
  CHECK(contains(said(kNoMark), "/var/lib/kubelet/volumeplugins"));
  CHECK(contains(said(kOldMark), "version v1, and this daemon is v2"));
  CHECK(contains(said(kOldMark), "init container install"));
  CHECK(contains(said(kNoText), "is no mark of flexlocal; remove it, and restart kubelet"));
  const Result<engine::InitMark> long_mark = engine::InitMark(std::string(60, 'x'));
  for (const auto& mark : {kNoMark, kOldMark, kNoText, long_mark}) CHECK(said(mark).size() <= 500);
}

TEST_CASE_FIXTURE(Fixture, "what lasts is logged once and told once, and ends with the mark") {
  storage.mark = engine::InitMark();
  CHECK(ready_after(seconds(29)));
  CHECK(warnings() == 0);
  CHECK(ready_after(seconds(1)));
  CHECK(warnings() == 1);
  CHECK(log.has("kubelet does not use this daemon's plugin"));
  CHECK(ready_after(seconds(269)));
  CHECK_FALSE(ready_after(seconds(1)));
  CHECK_FALSE(ready_after(seconds(60)));
  CHECK(warnings() == 1);
  storage.mark = engine::InitMark(version());
  CHECK(ready_after(seconds(0)));
  const std::string told = events_written();
  CHECK(contains(told, R"("reason":"PluginNotUsed")"));
  CHECK(contains(told, R"("kind":"Node")"));
  CHECK(told.find("PluginNotUsed") == told.rfind("PluginNotUsed"));
}

TEST_CASE_FIXTURE(Fixture,
                  "an older plugin is waited for anew when the right one has been called") {
  CHECK(ready_after(minutes(60)));
  storage.mark = engine::InitMark("v0");
  CHECK(ready_after(seconds(10)));
  CHECK(warnings() == 0);
  CHECK(ready_after(seconds(30)));
  CHECK(warnings() == 1);
  CHECK(ready_after(minutes(5)));
  CHECK(contains(events_written(), R"("reason":"PluginNotUsed")"));
}

TEST_CASE_FIXTURE(Fixture, "a plugin that is not called has no room for volumes") {
  REQUIRE(wait_for(ledger.refresh(true)).ok());
  NodeState state;
  state.tidied = Status();
  CHECK(state.usable() == true);
  storage.mark = engine::InitMark();
  manual.advance(kInitPatience);
  state.kubelet = init.look();
  CHECK(state.usable() == false);
  CHECK(contains(report_of(state, config, ledger, budget).trouble, "has not called"));
  state.tidied = Error(ErrorCode::kFailed, "disk on fire");
  CHECK(report_of(state, config, ledger, budget).trouble == "disk on fire");
}

}  // namespace flexlocal::provisioner::test
