// One volume group and its records, as plain values that change step by step: before each step
// somebody else may do theirs. The agent's Storage on them, and who else makes volumes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/agent/storage.h"
#include "test/unit/agent/fake_events.h"

namespace flexlocal::provisioner::test {

inline constexpr Bytes kStepUnit{4 * kMiB.count()};

// Where tasks wait for their next step.
class TaskSteps {
 public:
  explicit TaskSteps(kube::asio::io_context& io) : io_(io) {}

  // Before a step of the task that runs now.
  Task<void> pause();
  // Starts the task, up to its first step.
  void start(unsigned task, Task<void> work);
  bool waits(unsigned task) const { return waiting_.contains(task); }
  // That one step, and all up to the task's next.
  void go_on(unsigned task);
  // It takes no step any more.
  void abandon(unsigned task) { waiting_.erase(task); }

 private:
  void run() {
    io_.restart();
    io_.poll();
  }

  kube::asio::io_context& io_;
  unsigned now_ = 0;
  std::map<unsigned, kube::asio::steady_timer*> waiting_;
};

// What stays when the agent is killed.
struct StepHost {
  struct Volume {
    std::optional<engine::Record> record;
    std::optional<Bytes> disk;
  };
  Bytes total;
  std::map<std::string, Volume> volumes;
  std::uint64_t changes = 1;       // of LVM's metadata
  std::vector<std::string> wrong;  // what must never be

  Bytes on_disk() const;
  // With what is promised and not made.
  Bytes given() const;
  void resize(Volume& volume, Bytes size, const char* doing);
  // lvcreate for what is promised, as the agent has it done, or a mount.
  void create(const std::string& name);
  void mark_ready(const std::string& name);
};

class SteppedStorage final : public Storage {
 public:
  SteppedStorage(StepHost& host, TaskSteps& steps) : host_(host), steps_(steps) {}

  Task<Result<engine::Inventory>> inventory() override;
  Task<bool> is_as_seen(const MetadataHeads& heads) override;
  Task<Status> grow(const engine::VolumeSpec& spec, Bytes size) override;
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override;
  Task<Result<engine::Removal>> remove_unused(const engine::VolumeSpec& spec) override;
  Task<Status> set_retained(const engine::VolumeSpec&, engine::Retained) override;
  Task<Result<engine::Record>> promise(const engine::OrderedCopy& ordered) override;
  Task<Result<engine::Record>> follow(const engine::OrderedCopy&) override;
  Task<Result<engine::Record>> refuse(const engine::VolumeSpec&) override;
  Task<Status> withdraw(const engine::VolumeSpec& spec) override;
  Task<Status> make(const engine::VolumeCall& call) override;
  Task<Status> settle(const engine::Inventory&) override;
  Task<Status> resume_suspended() override;
  Task<Status> refresh_io_limits() override;
  Result<engine::InitMark> init_mark() const override;
  DeviceEvents& events() override { return events_; }

 private:
  engine::MetadataHead head() const { return {"vg", "uuid", host_.changes, 0}; }

  StepHost& host_;
  TaskSteps& steps_;
  FakeEvents events_;
};

}  // namespace flexlocal::provisioner::test
