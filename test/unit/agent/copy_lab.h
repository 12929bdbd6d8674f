// The agent's worker on an API server and disks that are plain values. What is done to either is in
// one journal, in order: "GET", "promise", "PATCH Promised", "make".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/agent/copy_worker.h"
#include "test/unit/agent/copy_server.h"
#include "test/unit/agent/fake_storage.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

using Journal = std::vector<std::string>;

inline constexpr Bytes kTwoGiB{2 * kGiB.count()};

// A group of 2 GiB, and the order of a new volume of 1 GiB.
struct CopyLab : kube::test::Lab {
  Journal journal;
  CopyServer server{journal};
  FakeStorage storage{journal};
  engine::NodeConfig config;
  NodeBudget budget{kMuchMemory};
  kube::test::ManualClock manual;
  kube::test::FakeHttp http;
  kube::ApiClient api{http, clock, kube::ApiOptions{.limit = {}}};
  CopyOrder order = sample_order();
  const std::string name = copy_name(order);
  const std::string volume = order.volume.name.text();
  // What is still carried out before the process is killed: API requests and changes of the disks.
  int left = 1'000'000;

  CopyLab();

  // Another process of the agent: what it kept in memory is gone. It has listed all orders.
  void restart();
  Ledger& ledger() { return process_->ledger; }
  kube::Informer<VolumeCopy>& copies() { return process_->copies; }
  CopyWorker& worker() { return process_->worker; }

  // Gives the order as it is now, and shows it as the watch does.
  void give();
  void give(DesiredState desired);
  void give(const CopyOrder& other);
  void watch(const std::string& copy);

  // One pass.
  Result<Pass> pass() { return pass_of(name); }
  Result<Pass> pass_of(const std::string& copy);
  // Until one says that it is done, or failed.
  Result<Pass> passes_of(const std::string& copy);
  // Passes until there is nothing more to do; the test fails where one fails or there is no end.
  void finish();
  // The error of a pass that must fail.
  Error failed_pass();
  // A whole copy with all that goes with it, by the order as it is now, and an empty journal.
  void make_ready();

  // What was done since the last call: "GET, promise, PATCH Promised". The lab's own volume is not
  // named.
  std::string done();
  bool did(std::string_view entry) const;

  CopyStatus status() { return server.copy(name).status; }
  // nullptr when there is none of the type.
  const CopyCondition* condition(std::string_view type = kAsOrdered);
  engine::Record* record();
  engine::LogicalVolume& lv() { return storage.present.volumes.at(0); }

 private:
  struct Process {
    explicit Process(CopyLab& lab);
    kube::Informer<VolumeCopy> copies;
    Ledger ledger;
    CopyWorker worker;
  };
  bool live() { return left-- > 0; }

  std::unique_ptr<Process> process_;
  CopyStatus shown_;
};

}  // namespace flexlocal::provisioner::test
