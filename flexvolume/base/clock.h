// Time as a thing that is handed in, so that tests need not wait for it.
#pragma once

#include <chrono>

namespace flexlocal {

class Clock {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Wall = std::chrono::system_clock::time_point;

  virtual ~Clock() = default;
  virtual Instant now() const = 0;  // never jumps: for deadlines and back-off
  virtual Wall wall() const = 0;    // for time stamps that people and the API server read
};

class SystemClock final : public Clock {
 public:
  Instant now() const override { return std::chrono::steady_clock::now(); }
  Wall wall() const override { return std::chrono::system_clock::now(); }
};

}  // namespace flexlocal
