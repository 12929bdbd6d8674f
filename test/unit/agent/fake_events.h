// What a kernel tells of its volumes, by a test's word.
#pragma once

#include <chrono>
#include <vector>

#include "provisioner/agent/device_events.h"
#include "provisioner/kube/condition.h"

namespace flexlocal::provisioner::test {

class FakeEvents final : public DeviceEvents {
 public:
  Status armed;
  // Time passes at once, and `waited` has how much.
  bool hurries = false;
  std::chrono::nanoseconds waited{};
  int turns = 0;

  void change() {
    changed_ = true;
    changes_.notify_all();
  }

  Status arm() override {
    changed_ = false;
    return armed;
  }
  Task<Result<bool>> wait(std::chrono::nanoseconds most) override {
    ++turns;
    const auto now = std::chrono::steady_clock::now();
    const auto until = now + (hurries ? std::chrono::nanoseconds(0) : most);
    if (hurries && !changed_) waited += most;
    const bool deaf = !armed.ok();
    if (deaf || !changed_) {
      auto ended = co_await changes_.wait(until);
      if (!ended) co_return ended.error();
    }
    co_return changed_ && !deaf;
  }

 private:
  bool changed_ = false;
  kube::Condition changes_;
};

}  // namespace flexlocal::provisioner::test
