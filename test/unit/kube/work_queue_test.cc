#include "provisioner/kube/work_queue.h"

#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr BackoffOptions kBackoff{milliseconds(5), milliseconds(40)};
const Clock::Instant kNow{std::chrono::hours(1)};

Task<void> get_into(WorkQueue& queue, std::vector<std::string>& keys, int& ended) {
  for (;;) {
    const auto key = co_await queue.get();
    if (!key) {
      CHECK(key.error().code() == ErrorCode::kCancelled);
      break;
    }
    keys.push_back(*key);
    queue.done(*key);
  }
  ++ended;
}

// The key alone of what pop() hands out.
std::optional<std::string> next(WorkQueueCore& queue, Clock::Instant now) {
  auto job = queue.pop(now);
  if (!job) return std::nullopt;
  return std::move(job->key);
}

}  // namespace

TEST_CASE("a key is there once however often it is added, and keys come in order") {
  WorkQueueCore queue(kBackoff);
  for (const char* const key : {"a", "b", "a", "c", "b"}) queue.add(key, kNow);
  CHECK(next(queue, kNow) == "a");
  CHECK(next(queue, kNow) == "b");
  CHECK(next(queue, kNow) == "c");
  CHECK_FALSE(next(queue, kNow));
}

TEST_CASE("re-adding a key while it is processed requeues it once") {
  WorkQueueCore queue(kBackoff);
  queue.add("a", kNow);
  REQUIRE(next(queue, kNow) == "a");
  queue.add("a", kNow);
  queue.add("a", kNow);
  CHECK_FALSE(next(queue, kNow));  // never twice at once
  queue.done("a", kNow);
  CHECK(next(queue, kNow) == "a");
  queue.done("a", kNow);
  CHECK_FALSE(next(queue, kNow));
}

TEST_CASE("a key that falls due while it is processed comes after it is done") {
  WorkQueueCore queue(kBackoff);
  queue.add("a", kNow);
  REQUIRE(next(queue, kNow) == "a");
  queue.add_at("a", kNow + seconds(1));
  CHECK_FALSE(next(queue, kNow + seconds(2)));
  queue.done("a", kNow);
  CHECK(next(queue, kNow + seconds(2)) == "a");
}

TEST_CASE("a delayed key comes when it is due, at the earlier of two times") {
  WorkQueueCore queue(kBackoff);
  queue.add_at("a", kNow + seconds(5));
  queue.add_at("a", kNow + seconds(2));
  queue.add_at("a", kNow + seconds(9));
  queue.add_at("b", kNow + seconds(1));
  CHECK(queue.next_due() == kNow + seconds(1));
  CHECK_FALSE(next(queue, kNow));
  CHECK(next(queue, kNow + seconds(1)) == "b");
  CHECK_FALSE(next(queue, kNow + milliseconds(1999)));
  CHECK(next(queue, kNow + seconds(2)) == "a");
  CHECK_FALSE(queue.next_due());
}

TEST_CASE("back-off doubles for each key on its own up to the maximum, until it is forgotten") {
  WorkQueueCore queue(kBackoff);
  CHECK(queue.next_delay("a") == milliseconds(5));
  CHECK(queue.next_delay("a") == milliseconds(10));
  CHECK(queue.next_delay("a") == milliseconds(20));
  CHECK(queue.next_delay("a") == milliseconds(40));
  CHECK(queue.next_delay("a") == milliseconds(40));
  CHECK(queue.next_delay("b") == milliseconds(5));
  CHECK(queue.failures("a") == 5);
  queue.forget("a");
  CHECK(queue.failures("a") == 0);
  CHECK(queue.next_delay("a") == milliseconds(5));
}

TEST_CASE("back-off never overflows") {
  const BackoffOptions options{seconds(1), std::chrono::nanoseconds::max()};
  CHECK(backoff_delay(options, 4'000'000'000U) == std::chrono::nanoseconds::max());
}

TEST_CASE("jitter is between once and twice the time and repeats with its seed") {
  Random one(7);
  Random other(7);
  for (int i = 0; i < 100; ++i) {
    const auto time = one.jittered(seconds(1));
    CHECK(time >= seconds(1));
    CHECK(time < seconds(2));
    CHECK(time == other.jittered(seconds(1)));
  }
}

TEST_CASE("a queue that is shut down takes nothing, drops the delayed and hands out the ready") {
  WorkQueueCore queue(kBackoff);
  queue.add("a", kNow);
  queue.add_at("b", kNow + seconds(1));
  queue.shut_down();
  queue.add("c", kNow);
  queue.add_at("d", kNow);
  CHECK(next(queue, kNow + seconds(2)) == "a");
  CHECK_FALSE(next(queue, kNow + seconds(2)));
}

TEST_CASE("workers that wait get keys as they are added and end when the queue is shut down") {
  Lab lab;
  WorkQueue queue(lab.clock, kBackoff);
  std::vector<std::string> keys;
  int ended = 0;
  for (int i = 0; i < 3; ++i) lab.tasks.spawn(get_into(queue, keys, ended));
  lab.settle();
  for (const char* const key : {"a", "b", "c", "d"}) queue.add(key);
  REQUIRE(lab.run_until([&] { return keys.size() == 4; }));
  queue.add_after("late", milliseconds(5));
  queue.add_rate_limited("failed");
  REQUIRE(lab.run_until([&] { return keys.size() == 6; }));
  queue.shut_down();
  CHECK(lab.run_until([&] { return ended == 3; }));
}

TEST_CASE("a worker that is told to stop hands the wake-up on to another") {
  Lab lab;
  WorkQueue queue(lab.clock, kBackoff);
  std::vector<std::string> keys;
  int stopped = 0;
  int ended = 0;
  TaskGroup first(lab.io);
  first.spawn(get_into(queue, keys, stopped));
  lab.settle();
  lab.tasks.spawn(get_into(queue, keys, ended));
  lab.settle();
  first.cancel();
  queue.add("a");  // wakes the first, which is stopping
  CHECK(lab.run_until([&] { return stopped == 1 && keys.size() == 1; }));
  queue.shut_down();
  CHECK(lab.run_until([&] { return ended == 1; }));
}

}  // namespace flexlocal::kube::test
