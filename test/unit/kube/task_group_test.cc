#include "provisioner/kube/task_group.h"

#include <stdexcept>

#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

Task<void> sleep_into(std::chrono::nanoseconds time, std::optional<Status>& into) {
  into.emplace(co_await sleep_for(time));
}

Task<void> sleep_twice(std::optional<Status>& second) {
  const Status first = co_await sleep_for(std::chrono::hours(1));
  CHECK_FALSE(first.ok());
  second.emplace(co_await sleep_for(std::chrono::hours(1)));
}

Task<void> wait_into(Condition& condition, int& woken) {
  const Status waited = co_await condition.wait();
  if (waited) ++woken;
}

Task<void> fail() {
  throw std::logic_error("broken");
  co_return;
}

Task<void> stop_own_group(TaskGroup& group, bool& ended) {
  group.cancel();
  const Status waited = co_await sleep_for(std::chrono::hours(1));
  ended = !waited;
}

Task<void> count(int& ended) {
  ++ended;
  co_return;
}

Task<void> spawn_three(TaskGroup& group, int& ended) {
  for (int i = 0; i < 3; ++i) group.spawn(count(ended));
  ++ended;
  co_return;
}

}  // namespace

TEST_CASE("a task may spawn others into its own group, even ones that end at once") {
  Lab lab;
  int ended = 0;
  lab.tasks.spawn(spawn_three(lab.tasks, ended));
  CHECK(lab.run_until([&] { return lab.tasks.running() == 0; }));
  CHECK(ended == 4);
}

TEST_CASE("a cancelled wait says so, and so does every wait begun afterwards") {
  Lab lab;
  std::optional<Status> second;
  lab.tasks.spawn(sleep_twice(second));
  lab.settle();
  lab.tasks.cancel();
  REQUIRE(lab.run_until([&] { return second.has_value(); }));
  CHECK(second->error().code() == ErrorCode::kCancelled);
}

TEST_CASE("a task that is spawned into a cancelled group finds itself cancelled") {
  Lab lab;
  std::optional<Status> slept;
  lab.tasks.cancel();
  lab.settle();
  lab.tasks.spawn(sleep_into(std::chrono::hours(1), slept));
  REQUIRE(lab.run_until([&] { return slept.has_value(); }));
  CHECK(slept->error().code() == ErrorCode::kCancelled);
}

TEST_CASE("a task may cancel the group that it is in") {
  Lab lab;
  bool ended = false;
  lab.tasks.spawn(stop_own_group(lab.tasks, ended));
  CHECK(lab.run_until([&] { return ended; }));
}

TEST_CASE("join ends when the last task has ended") {
  Lab lab;
  TaskGroup group(lab.io);
  std::optional<Status> slept;
  group.spawn(sleep_into(std::chrono::milliseconds(1), slept));
  CHECK(lab.wait_for(group.join()).ok());
  CHECK(slept->ok());
  CHECK(group.running() == 0);
}

TEST_CASE("an exception that leaves a task leaves the event loop") {
  Lab lab;
  lab.tasks.spawn(fail());
  CHECK_THROWS_AS(lab.run_until([] { return false; }), std::logic_error);
  CHECK(lab.tasks.running() == 0);
}

TEST_CASE("a notification wakes the one that has waited longest, or all") {
  Lab lab;
  Condition condition;
  int woken = 0;
  for (int i = 0; i < 3; ++i) lab.tasks.spawn(wait_into(condition, woken));
  lab.settle();
  condition.notify_one();
  lab.settle();
  CHECK(woken == 1);
  condition.notify_all();
  lab.settle();
  CHECK(woken == 3);
}

TEST_CASE("a condition may die before the tasks that wait for it") {
  Lab lab;
  int woken = 0;
  {
    Condition condition;
    lab.tasks.spawn(wait_into(condition, woken));
    lab.settle();
  }
  lab.tasks.cancel();
  CHECK(lab.run_until([&] { return lab.tasks.running() == 0; }));
  CHECK(woken == 0);
}

}  // namespace flexlocal::kube::test
