// Time that goes on while the machine sleeps, for what others count on meanwhile.
#pragma once

#include <ctime>

#include "flexvolume/base/clock.h"

namespace flexlocal::kube {

// CLOCK_BOOTTIME. Its instants are not those of timers (CLOCK_MONOTONIC): between the two only
// durations can be exchanged. What neither counts is a virtual machine that its host stops.
class BootClock final : public Clock {
 public:
  Instant now() const override {
    std::timespec time{};
    ::clock_gettime(CLOCK_BOOTTIME, &time);
    return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
  Wall wall() const override { return std::chrono::system_clock::now(); }
};

}  // namespace flexlocal::kube
