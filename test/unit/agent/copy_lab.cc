#include "test/unit/agent/copy_lab.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr int kMostPasses = 10;

}  // namespace

CopyLab::Process::Process(CopyLab& lab)
    : copies(lab.api, lab.log, copies_of(kNode), decode_copy),
      ledger(lab.storage, lab.config, lab.manual),
      worker(
          CopyClient(lab.api, copies),
          CopyHand(lab.storage, ledger, CopyJudge(ledger, lab.budget), true, lab.manual, lab.log),
          ledger, lab.config, {{kNode, kUidOfNode, kCluster}, "host"}, lab.manual) {}

CopyLab::CopyLab() {
  config.pools["default"].volume_group = "vg";
  http.answer = [this](const kube::HttpRequest& request) { return server.answer(request); };
  server.alive = [this] { return live(); };
  storage.alive = [this] { return live(); };
  restart();
}

void CopyLab::restart() { process_ = std::make_unique<Process>(*this); }

void CopyLab::give() { give(order); }

void CopyLab::give(DesiredState desired) {
  order.desired = desired;
  give();
}

void CopyLab::give(const CopyOrder& other) {
  server.order(other);
  watch(copy_name(other));
}

void CopyLab::watch(const std::string& copy) {
  const auto document = JsonDocument::parse(server.text(copy));
  REQUIRE(document);
  copies().put(document->root());
}

Result<Pass> CopyLab::pass_of(const std::string& copy) {
  return wait_for(process_->worker.work(copy));
}

void CopyLab::finish() {
  for (int passes = 0; passes < kMostPasses; ++passes) {
    const auto passed = pass();
    REQUIRE_MESSAGE(passed, passed.error().message());
    if (*passed == Pass::kDone) return;
  }
  FAIL("no end");
}

Result<Pass> CopyLab::passes_of(const std::string& copy) {
  Result<Pass> passed = Pass::kRequeue;
  for (int passes = 0; passes < kMostPasses && passed && *passed == Pass::kRequeue; ++passes)
    passed = pass_of(copy);
  return passed;
}

Error CopyLab::failed_pass() {
  const auto passed = passes_of(name);
  REQUIRE_FALSE(passed);
  return passed.error();
}

void CopyLab::make_ready() {
  give();
  finish();
  REQUIRE(status().state == CopyState::kReady);
  journal.clear();
}

std::string CopyLab::done() {
  std::string text = join(std::exchange(journal, {}), ", ");
  for (const std::string& own : {" of " + volume, ' ' + volume})
    for (std::size_t at = text.find(own); at != std::string::npos; at = text.find(own))
      text.erase(at, own.size());
  return text;
}

bool CopyLab::did(std::string_view entry) const {
  return std::find(journal.begin(), journal.end(), entry) != journal.end();
}

const CopyCondition* CopyLab::condition(std::string_view type) {
  shown_ = status();
  for (const CopyCondition& condition : shown_.conditions)
    if (condition.type == type) return &condition;
  return nullptr;
}

engine::Record* CopyLab::record() {
  const auto found = storage.present.records.find(volume);
  return found == storage.present.records.end() ? nullptr : &found->second;
}

}  // namespace flexlocal::provisioner::test
