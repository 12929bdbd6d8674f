// What tests with tasks share: an event loop that runs until something holds, with a deadline.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flexvolume/base/log.h"
#include "provisioner/kube/task_group.h"

namespace flexlocal::kube::test {

class RecordingLog final : public Log {
 public:
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override {
    lines.push_back(format_log_line(level, message, fields));
  }
  bool has(std::string_view piece) const {
    for (const std::string& line : lines)
      if (line.find(piece) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> lines;
};

class ManualClock final : public Clock {
 public:
  Instant now() const override { return now_; }
  Wall wall() const override { return wall_; }
  void advance(std::chrono::nanoseconds by) {
    now_ += by;
    wall_ += std::chrono::duration_cast<Wall::duration>(by);
  }

 private:
  Instant now_{std::chrono::hours(1)};
  Wall wall_{std::chrono::seconds(1'700'000'000)};
};

template <typename T>
Task<void> store(Task<T> task, std::optional<T>& into) {
  into.emplace(co_await std::move(task));
}

struct Lab {
  asio::io_context io;
  SystemClock clock;
  RecordingLog log;
  TaskGroup tasks{io};

  ~Lab() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  // False when it does not hold within half a minute, on a machine however busy.
  template <typename Predicate>
  bool run_until(Predicate holds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      io.restart();
      io.run_one_for(std::chrono::milliseconds(20));
    }
    return true;
  }

  template <typename T>
  T wait_for(Task<T> task) {
    std::optional<T> result;
    tasks.spawn(store<T>(std::move(task), result));
    REQUIRE(run_until([&] { return result.has_value(); }));
    return std::move(*result);
  }

  // All that can be done without waiting.
  void settle() {
    io.restart();
    io.poll();
  }
};

}  // namespace flexlocal::kube::test
