// What is awaited comes first, namespaces take turns, and nothing is put off for ever.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "flexvolume/base/text.h"
#include "provisioner/kube/work_queue.h"
#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

constexpr BackoffOptions kBackoff{milliseconds(5), milliseconds(40)};
constexpr auto kAwaited = Priority::kAwaited;
constexpr auto kNormal = Priority::kNormal;
constexpr auto kBackground = Priority::kBackground;
const Clock::Instant kNow{std::chrono::hours(1)};

// Keys as they are handed out and done one after another: "a b c".
std::string all_of(WorkQueueCore& queue) {
  std::vector<std::string> keys;
  while (auto job = queue.pop(kNow)) {
    keys.push_back(job->key);
    queue.done(job->key, kNow);
  }
  return join(keys, " ");
}

// The rules written down a second time, without any thought of speed.
class Model {
 public:
  explicit Model(std::size_t most_others) : most_others_(most_others) {}

  void add(const std::string& key, Priority priority) {
    auto entry = find(key);
    if (entry == dirty_.end()) {
      dirty_.push_back({key, priority, ++order_});
    } else if (priority > entry->priority) {
      entry->priority = priority;
      entry->order = ++order_;
    }
    line_up();
  }

  void add_at(const std::string& key, Clock::Instant when, Priority priority) {
    const auto [found, is_new] = due_.try_emplace(key, when, priority);
    if (is_new) return;
    found->second = {std::min(found->second.first, when), std::max(found->second.second, priority)};
  }

  std::string pop(Clock::Instant now) {
    fall_due(now);
    std::string key;
    Priority chosen = kAwaited;
    for (const Priority priority : {kAwaited, kNormal, kBackground}) {
      const std::string candidate = first(priority);
      const bool has_place = priority == kAwaited || others_.size() < most_others_;
      const bool has_turn = key.empty() || passed_over_[priority] >= WorkQueueCore::kMostInARow;
      if (candidate.empty() || !has_place || !has_turn) continue;
      key = candidate;
      chosen = priority;
    }
    if (key.empty()) return key;
    for (const Priority priority : {kAwaited, kNormal, kBackground}) {
      const bool waits = priority < chosen && !first(priority).empty();
      const bool begins_anew = priority == chosen || first(priority).empty();
      if (begins_anew) passed_over_[priority] = 0;
      if (waits) ++passed_over_[priority];
    }
    dirty_.erase(find(key));
    processing_.push_back(key);
    if (chosen != kAwaited) others_.insert(key);
    Turns& turns = turns_[chosen];
    auto& flows = turns.flows[turns.kinds.front()];
    std::rotate(flows.begin(), flows.begin() + 1, flows.end());
    std::rotate(turns.kinds.begin(), turns.kinds.begin() + 1, turns.kinds.end());
    line_up();
    return key;
  }

  void done(const std::string& key) {
    std::erase(processing_, key);
    others_.erase(key);
    // It takes its place only now.
    if (const auto entry = find(key); entry != dirty_.end()) entry->order = ++order_;
    line_up();
  }

  const std::vector<std::string>& processing() const { return processing_; }

 private:
  struct Entry {
    std::string key;
    Priority priority;
    unsigned order;
  };

  std::vector<Entry>::iterator find(const std::string& key) {
    return std::find_if(dirty_.begin(), dirty_.end(),
                        [&](const Entry& entry) { return entry.key == key; });
  }

  void fall_due(Clock::Instant now) {
    for (;;) {
      auto earliest = due_.end();
      for (auto at = due_.begin(); at != due_.end(); ++at)
        if (at->second.first <= now &&
            (earliest == due_.end() || at->second.first < earliest->second.first))
          earliest = at;
      if (earliest == due_.end()) return;
      add(earliest->first, earliest->second.second);
      due_.erase(earliest);
    }
  }

  // Kinds in line, and each one's flows.
  struct Turns {
    std::vector<std::string> kinds;
    std::map<std::string, std::vector<std::string>> flows;
  };

  static std::string flow_of(const std::string& key) { return key.substr(0, key.find('/')); }
  static std::string kind_of(const std::string& key) { return key.substr(0, key.find(':')); }

  // The first key of a flow; empty: it has none that is ready.
  std::string first(Priority priority, const std::string& flow) const {
    const Entry* best = nullptr;
    for (const Entry& entry : dirty_) {
      const bool busy =
          std::find(processing_.begin(), processing_.end(), entry.key) != processing_.end();
      const bool is_of = entry.priority == priority && flow_of(entry.key) == flow;
      if (!busy && is_of && (best == nullptr || entry.order < best->order)) best = &entry;
    }
    return best == nullptr ? std::string() : best->key;
  }

  std::string first(Priority priority) {
    Turns& turns = turns_[priority];
    return turns.kinds.empty() ? std::string()
                               : first(priority, turns.flows[turns.kinds.front()].front());
  }

  // Kinds and flows are in line as long as they have keys, and come to the end of it with their
  // first.
  void line_up() {
    for (const Priority priority : {kAwaited, kNormal, kBackground}) {
      Turns& turns = turns_[priority];
      for (auto& [kind, flows] : turns.flows)
        std::erase_if(flows, [&](const auto& flow) { return first(priority, flow).empty(); });
      std::erase_if(turns.kinds, [&](const auto& kind) { return turns.flows[kind].empty(); });
      for (const Entry& entry : dirty_) {
        const std::string flow = flow_of(entry.key), kind = kind_of(entry.key);
        auto& flows = turns.flows[kind];
        if (first(priority, flow).empty()) continue;
        if (std::ranges::find(flows, flow) == flows.end()) flows.push_back(flow);
        if (std::ranges::find(turns.kinds, kind) == turns.kinds.end()) turns.kinds.push_back(kind);
      }
    }
  }

  std::vector<Entry> dirty_;
  std::vector<std::string> processing_;
  std::set<std::string> others_;  // of processing_
  std::size_t most_others_;
  std::map<std::string, std::pair<Clock::Instant, Priority>> due_;
  unsigned order_ = 0;
  std::map<Priority, unsigned> passed_over_;
  std::map<Priority, Turns> turns_;
};

// One random life of a queue beside its model.
void live(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const std::size_t most_others = 1 + below(5);
  WorkQueueCore queue(kBackoff, most_others);
  Model model(most_others);
  auto now = kNow;
  for (int step = 0; step < 2000; ++step) {
    const auto letter = below(26);
    const std::string key = concat(letter % 2 == 0 ? "even:" : "odd:", letter % 6, '/',
                                   std::string(1, static_cast<char>('a' + letter)));
    const auto priority = static_cast<Priority>(below(kPriorities));
    const auto action = below(10);
    if (action < 4) {
      queue.add(key, now, priority);
      model.add(key, priority);
    } else if (action == 4) {
      const auto when = now + milliseconds(below(20));
      queue.add_at(key, when, priority);
      model.add_at(key, when, priority);
    } else if (action < 8) {
      const auto job = queue.pop(now);
      const std::string expected = model.pop(now);
      REQUIRE((job ? job->key : std::string()) == expected);
    } else if (action == 8 && !model.processing().empty()) {
      const std::string finished = model.processing()[below(model.processing().size())];
      queue.done(finished, now);
      model.done(finished);
    } else {
      now += milliseconds(below(5));
    }
  }
}

}  // namespace

TEST_CASE("what is awaited comes first, each in the order of addition") {
  WorkQueueCore queue(kBackoff);
  queue.add("b1", kNow);
  queue.add("a1", kNow, kAwaited);
  queue.add("b2", kNow, kBackground);
  queue.add("a2", kNow, kAwaited);
  CHECK(queue.ready(kAwaited) == 2);
  CHECK(queue.ready(kBackground) == 2);
  CHECK(all_of(queue) == "a1 a2 b1 b2");
}

TEST_CASE("ten thousand keys of one namespace do not hold up another's first") {
  WorkQueueCore queue(kBackoff);
  for (int i = 0; i < 10'000; ++i) queue.add(concat("claim:many/", i), kNow);
  queue.add("claim:other/first", kNow);
  queue.add("claim:other/second", kNow);
  CHECK(queue.pop(kNow)->key == "claim:many/0");
  CHECK(queue.pop(kNow)->key == "claim:other/first");
  CHECK(queue.pop(kNow)->key == "claim:many/1");
  CHECK(queue.pop(kNow)->key == "claim:other/second");
  CHECK(queue.pop(kNow)->key == "claim:many/2");
  CHECK(queue.ready() == 9'997);
}

TEST_CASE(
    "kinds take turns however many namespaces there are, and what is lifted leaves its flow") {
  WorkQueueCore queue(kBackoff);
  for (int i = 0; i < 1000; ++i) queue.add(concat("claim:", i, "/data"), kNow);
  for (const char* const key : {"room:a", "copy:b", "room:c", "claim:0/lifted"})
    queue.add(key, kNow);
  queue.add("claim:0/lifted", kNow, kAwaited);
  std::string first;
  for (int i = 0; i < 7; ++i) first += concat(queue.pop(kNow)->key, ' ');
  CHECK(first == "claim:0/lifted claim:0/data room:a copy:b claim:1/data room:c claim:2/data ");
}

TEST_CASE("an addition with a higher priority lifts a key that waits, and no addition lowers one") {
  WorkQueueCore queue(kBackoff);
  for (const char* const key : {"a", "b", "c"}) queue.add(key, kNow);
  queue.add("c", kNow, kAwaited);
  queue.add("c", kNow, kBackground);
  CHECK(queue.ready() == 3);
  CHECK(all_of(queue) == "c a b");
}

TEST_CASE("a key that is lifted while it is processed comes first afterwards") {
  WorkQueueCore queue(kBackoff);
  queue.add("a", kNow);
  REQUIRE(queue.pop(kNow)->key == "a");
  queue.add("b", kNow);
  queue.add("a", kNow);
  queue.add("a", kNow, kAwaited);
  CHECK(queue.ready() == 1);
  queue.done("a", kNow);
  CHECK(all_of(queue) == "a b");
}

TEST_CASE("a delayed key has the highest of the priorities that it was delayed with") {
  WorkQueueCore queue(kBackoff);
  queue.add("b", kNow);
  queue.add_at("a", kNow, kAwaited);
  queue.add_at("a", kNow, kBackground);
  CHECK(all_of(queue) == "a b");
}

TEST_CASE("of three priorities none waits for ever") {
  WorkQueueCore queue(kBackoff);
  for (int i = 0; i < 100; ++i) queue.add(concat("a", i), kNow, kAwaited);
  for (int i = 0; i < 100; ++i) queue.add(concat("n", i), kNow, kNormal);
  queue.add("b", kNow);
  const std::string order = all_of(queue);
  const auto keys = split(order, ' ');
  REQUIRE(keys.size() == 201);
  CHECK(keys[16] == "b");
  CHECK(keys[17] == "n0");
  CHECK(keys[18] == "a16");
  CHECK(keys[34] == "n1");
}

TEST_CASE("of seventeen one is for the background while it waits, and none is lost to it else") {
  WorkQueueCore queue(kBackoff);
  const auto add_awaited = [&](int count) {
    for (int i = 0; i < count; ++i) queue.add(concat("a", i), kNow, kAwaited);
  };
  // While nothing waits in the background, nothing is counted against the awaited.
  add_awaited(40);
  CHECK(all_of(queue).find('b') == std::string::npos);
  for (const char* const key : {"b1", "b2", "b3"}) queue.add(key, kNow);
  add_awaited(100);
  const std::string order = all_of(queue);
  const auto keys = split(order, ' ');
  REQUIRE(keys.size() == 103);
  CHECK(keys[16] == "b1");
  CHECK(keys[33] == "b2");
  CHECK(keys[50] == "b3");
}

TEST_CASE("what is not awaited takes no more places than it may") {
  WorkQueueCore queue(kBackoff, 2);
  queue.add("b1", kNow, kNormal);
  for (const char* const key : {"b2", "b3"}) queue.add(key, kNow);
  REQUIRE(queue.pop(kNow)->key == "b1");
  REQUIRE(queue.pop(kNow)->key == "b2");
  CHECK_FALSE(queue.pop(kNow));
  CHECK(queue.has_ready());
  queue.add("a", kNow, kAwaited);
  CHECK(queue.pop(kNow)->key == "a");
  queue.done("a", kNow);
  CHECK_FALSE(queue.pop(kNow));
  queue.done("b1", kNow);
  CHECK(queue.pop(kNow)->key == "b3");
}

TEST_CASE("a worker that is done hands its place on to background work that waits for one") {
  Lab lab;
  WorkQueue queue(lab.clock, kBackoff, 1);
  queue.add("b1");
  queue.add("b2");
  REQUIRE(*lab.wait_for(queue.get()) == "b1");
  std::string next;
  lab.tasks.spawn([](WorkQueue& from, std::string& key) -> Task<void> {
    auto got = co_await from.get();
    if (got) key = *got;
  }(queue, next));
  lab.settle();
  CHECK(next.empty());
  queue.done("b1");
  CHECK(lab.run_until([&] { return next == "b2"; }));
}

TEST_CASE("a queue is as its model through any sequence") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    live(seed);
  }
}

TEST_CASE("how long keys wait and are worked on is known") {
  WorkQueueCore queue(kBackoff);
  queue.add("a", kNow);
  queue.add_at("b", kNow + milliseconds(10));
  CHECK(queue.pop(kNow + milliseconds(7))->waited == milliseconds(7));
  CHECK(queue.pop(kNow + milliseconds(15))->waited == milliseconds(5));  // since it fell due
  const auto unfinished = queue.unfinished(kNow + milliseconds(20));
  CHECK(unfinished.sum == milliseconds(13 + 5));
  CHECK(unfinished.longest == milliseconds(13));
  CHECK(queue.done("a", kNow + milliseconds(30)) == milliseconds(23));
  CHECK(queue.done("nobody", kNow) == milliseconds(0));
}

TEST_CASE("what is tried again has the priority that it was handed out with, or that is said") {
  Lab lab;
  ManualClock clock;
  WorkQueue queue(clock, kBackoff);
  queue.add("awaited", kAwaited);
  const auto first = lab.wait_for(queue.get());
  REQUIRE(*first == "awaited");
  queue.add("other");
  queue.add_rate_limited(*first);
  queue.done(*first);
  clock.advance(milliseconds(10));
  const auto again = lab.wait_for(queue.get());
  CHECK(*again == "awaited");
  CHECK(queue.depth(kBackground) == 1);
  CHECK(queue.stats().retries.value() == 1);
  CHECK(queue.stats().adds[0].value() == 1);
  CHECK(queue.stats().adds[2].value() == 1);
  queue.add_rate_limited(*again, kBackground);
  queue.done(*again);
  clock.advance(milliseconds(20));
  CHECK(*lab.wait_for(queue.get()) == "other");
  CHECK(*lab.wait_for(queue.get()) == "awaited");
}

}  // namespace flexlocal::kube::test
