#include <numeric>

#include "test/unit/agent/agent_lab.h"

namespace flexlocal::provisioner::test {

TEST_CASE_FIXTURE(AgentLab,
                  "nothing is worked on before the disks were tidied once, and then all") {
  const auto names = give(5);
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return !server.lists.empty() && storage.looks == 1; }));
  settle();
  CHECK(journal.empty());
  storage.go.notify_all();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  REQUIRE_FALSE(journal.empty());
  CHECK(journal.front() == "settle");
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab,
                  "nothing is worked on before this host has beaten for the Node, and then all") {
  const auto names = give(2);
  SUBCASE("no beat yet") { beaten.reset(); }
  SUBCASE("another host beats") { beaten = Error(ErrorCode::kBusy, "another host beats"); }
  SUBCASE("the beat failed") { beaten = Error(ErrorCode::kUnavailable, "no answer"); }
  start();
  REQUIRE(run_until([&] { return words() != "the list of volumecopies is not complete yet"; }));
  REQUIRE(run_until([&] { return did("settle"); }));
  settle();
  CHECK(journal.size() == 1);
  CHECK_FALSE(role->readiness());
  role->heard(Status());
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "while another host beats for the Node nothing is begun") {
  start_with(give(1));
  REQUIRE(run_until([&] { return words() == "ready"; }));
  role->heard(Error(ErrorCode::kUnavailable, "no answer"));
  CHECK(words() == "ready");
  role->heard(Error(ErrorCode::kBusy, "another host beats"));
  CHECK(words() == "another host beats");
  role->heard(Error(ErrorCode::kUnavailable, "no answer"));
  CHECK(words() == "another host beats");
  role->heard(Status());
  CHECK(words() == "ready");
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "orders are carried out although the disks could not all be tidied") {
  const auto names = give(2);
  storage.settle_status = Error(ErrorCode::kFailed, "lvchange failed");
  start();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(log.has("records and tags could not be brought together"));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab,
                  "the agent lists its own node's orders alone, from the API server's cache") {
  start();
  REQUIRE(run_until([&] { return !server.lists.empty(); }));
  CHECK(server.lists.front().find("labelSelector=flexlocal.io%2Fnode%3Dnode-a") !=
        std::string::npos);
  CHECK(server.lists.front().find("resourceVersion=0") != std::string::npos);
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "all copies are looked at again after each tidying") {
  const auto names = give(2);
  tidy_interval = std::chrono::seconds(0);
  start_with(names);
  storage.present.volumes.clear();
  CHECK(run_until([&] { return are(CopyState::kLost, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "a failure is told with its copy, and tried again until it succeeds") {
  const auto names = give(1);
  storage.make_status = Error(ErrorCode::kDeadline, "lvcreate did not end");
  start();
  REQUIRE(run_until([&] { return log.has("will be tried again"); }));
  CHECK(log.has("copy=" + names.front()));
  CHECK(log.has("lvcreate did not end"));
  storage.make_status = Status();
  CHECK(run_until([&] { return are(CopyState::kReady, names); }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "what is tried again and again is behind what somebody waits for") {
  give(1);
  storage.make_status = Error(ErrorCode::kFailed, "lvcreate failed");
  start();
  REQUIRE(run_until([&] { return log.has("will be tried again"); }));
  CHECK(stop());
  start();
  const kube::WorkQueueStats& stats = role->client().queues.front().queue->stats();
  const auto handed_out = [&](kube::Priority priority) {
    const auto& buckets = stats.waited[static_cast<std::size_t>(priority)].buckets();
    return std::reduce(buckets.begin(), buckets.end());
  };
  CHECK(run_until([&] { return handed_out(kube::Priority::kBackground) > 3; }));
  CHECK(handed_out(kube::Priority::kAwaited) == 0);
  CHECK(stop());
}

// The leader takes an order back that is not answered in time.
TEST_CASE_FIXTURE(AgentLab, "a new order is answered while all that is worked on hangs") {
  const auto names = give(4);
  const auto order = [&](auto change) {
    for (const std::string& name : names) {
      CopyOrder changed = *server.copies.copy(name).order;
      change(changed);
      server.copies.order(changed);
    }
  };
  SUBCASE("what is made") {
    storage.make_status = Error(ErrorCode::kFailed, "lvcreate failed");
    start();
    REQUIRE(run_until([&] { return are(CopyState::kPromised, names); }));
    CHECK(stop());
  }
  SUBCASE("what grows") {
    start_with(names);
    CHECK(stop());
    order([](CopyOrder& changed) { changed.volume.size += Bytes(4 * kMiB.count()); });
  }
  SUBCASE("what is removed") {
    start_with(names);
    CHECK(stop());
    order([](CopyOrder& changed) { changed.desired = DesiredState::kRemoved; });
  }
  const std::string asked = give_one(4);
  storage.hold = true;
  server.fails = [&](const kube::HttpRequest& request) {  // it comes when all others hang
    return storage.held < 4 && request.target.find(asked) != std::string::npos;
  };
  start();
  CHECK(run_until([&] { return server.copies.copy(asked).status.state == CopyState::kPromised; }));
  storage.hold = false;
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "what grows comes before what is made ahead") {
  const std::string grown = give_one(5);
  start_with({grown});
  CHECK(stop());
  const auto made = give(5);
  storage.make_status = Error(ErrorCode::kFailed, "lvcreate failed");
  start();
  REQUIRE(run_until([&] { return are(CopyState::kPromised, made); }));
  CHECK(stop());
  CopyOrder order = *server.copies.copy(grown).order;
  order.volume.size += Bytes(4 * kMiB.count());
  server.copies.order(order);
  storage.hold = true;
  start();
  CHECK(run_until([&] { return storage.held == 4; }));
  CHECK(did(concat("grow ", order.volume.name.text(), " to 304")));
  storage.hold = false;
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "orders whose answers were lost are answered before anything is made") {
  const auto names = give(6);
  server.fails = [](const kube::HttpRequest& request) {
    return request.method == kube::Method::kPatch;
  };
  start();
  REQUIRE(run_until([&] {
    return std::count_if(journal.begin(), journal.end(),
                         [](const std::string& did) { return did.starts_with("promise "); }) == 6;
  }));
  storage.hold = true;
  server.fails = [](const auto&) { return false; };
  CHECK(run_until([&] { return are(CopyState::kPromised, names); }));
  storage.hold = false;
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "a wipe goes on slice by slice") {
  const auto names = give(1);
  start_with(names);
  CHECK(stop());
  CopyOrder order = *server.copies.copy(names.front()).order;
  order.desired = DesiredState::kRemoved;
  server.copies.order(order);
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB},
                    {.done = false, .wiped = kMiB, .size = kGiB}};
  start();
  CHECK(run_until([&] { return are(CopyState::kRemoved, names); }));
  // Beside the two starts, after which the disks can be used.
  CHECK(run_until([&] { return news > 2; }));
  CHECK(stop());
  CHECK(news == 3);
}

// Not only when the disks are looked at again, which takes a minute.
TEST_CASE_FIXTURE(AgentLab, "a growth that lacked room is tried again once something is removed") {
  const auto names = give(2);
  start_with(names);
  CHECK(stop());
  const Bytes grown = order_too_much(names.front());
  CopyOrder removed = *server.copies.copy(names.back()).order;
  removed.desired = DesiredState::kRemoved;
  server.copies.order(removed);
  storage.slices = {{.done = false, .wiped = kMiB, .size = kGiB}};
  start();
  CHECK(run_until([&] { return server.copies.copy(names.front()).status.size == grown; }));
  const auto refusal = std::string("PATCH Ready");
  CHECK(std::count(journal.begin(), journal.end(), refusal) > 2);
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "where all copies are as ordered the disks are left alone") {
  tidy_interval = std::chrono::minutes(5);
  const auto names = give(2);
  start_with(names);
  CHECK(between_looks() >= std::chrono::seconds(270));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "what no event ends is looked for each minute") {
  tidy_interval = std::chrono::minutes(5);
  const auto names = give(2);
  SUBCASE("a volume that is not to be seen") {
    start_with(names);
    storage.present.volumes.clear();
    storage.changes.change();
    REQUIRE(run_until([&] { return are(CopyState::kLost, names); }));
  }
  SUBCASE("a growth for which there is no room") {
    start_with(names);
    CHECK(stop());
    order_too_much(names.front());
    start();
    REQUIRE(run_until([&] { return did("PATCH Ready"); }));
  }
  SUBCASE("a pool that is not to be seen") {
    config.pools["other"].volume_group = "gone";
    start_with(names);
    REQUIRE_FALSE(role->report().trouble.empty());
  }
  CHECK(between_looks() == std::chrono::seconds(60));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "that the node's memory has changed is told at once") {
  server.node = R"({"metadata":{"name":"node-a"},"status":{"capacity":{"memory":"1Gi"}}})";
  start();
  // Beside that the disks can be used.
  CHECK(run_until([&] { return news == 2; }));
  CHECK(role->report().budget->memory == kGiB);
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "readiness says what is missing") {
  server.denied = true;
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return log.has("list failed") && storage.looks == 1; }));
  CHECK(words() == "the list of volumecopies is not complete yet");
  server.denied = false;
  CHECK(run_until([&] { return words() == "this node's disks have not been looked at yet"; }));
  storage.go.notify_all();
  CHECK(run_until([&] { return words() == "ready"; }));
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "a look at the disks that failed is why the agent is not ready") {
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  tidy_interval = std::chrono::seconds(0);
  start();
  CHECK(run_until(
      [&] { return words() == "the last look at this node's disks failed: vgs failed"; }));
  // Who waits for the node hears of the end of it at once.
  news = 0;
  storage.inventory_status = Status();
  CHECK(run_until([&] { return words() == "ready"; }));
  CHECK(run_until([&] { return news == 1; }));
  CHECK(role->report().trouble.empty());
  // And of the next, once for as long as it lasts.
  storage.inventory_status = Error(ErrorCode::kFailed, "vgs failed");
  const int looks = storage.looks;
  CHECK(run_until([&] { return storage.looks > looks + 3; }));
  CHECK(news == 2);
  CHECK(role->report().trouble == "vgs failed");
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "the roll names what no order does, and which orders were seen") {
  const auto names = give(2);
  engine::VolumeSpec lost = sample_spec(kOtherUid);
  lost.copy = "fedcba9876543210";
  storage.present.records.emplace(lost.name.text(),
                                  engine::promised_record(lost, lost.name.claim_uid()));
  start_with(names);
  // Each change of the disks makes the last look out of date.
  const auto roll = role->report().roll;
  REQUIRE(roll);
  CHECK(roll->orders == digest_of(names));
  REQUIRE(roll->told.size() == 1);
  CHECK(roll->told.front().volume.copy == lost.copy);
  CHECK_FALSE(roll->cut);
  CHECK(std::set(roll->counted.begin(), roll->counted.end()) ==
        std::set{copy_id(0), copy_id(1), lost.copy});
  CHECK(stop());
}

TEST_CASE_FIXTURE(AgentLab, "told to stop, it ends, before it has begun as well") {
  give(5);
  start();
  SUBCASE("before") {}
  SUBCASE("while it works") { settle(); }
  SUBCASE("when all is done") {
    REQUIRE(run_until([&] { return role->readiness().ok(); }));
    settle();
  }
  CHECK(stop());
  CHECK(log.has("stopping: what is begun is finished first"));
}

TEST_CASE_FIXTURE(AgentLab, "told to stop, it begins nothing more of what waits") {
  const auto names = give(6);
  storage.hold_look = true;
  start();
  REQUIRE(run_until([&] { return storage.looks == 1 && !server.lists.empty(); }));
  role->stop();
  CHECK(stop());
  CHECK(are(CopyState::kUnsaid, names));
}

// Else each would have the API server read all copies from etcd when it comes back.
TEST_CASE("agents are content with the cache of an API server that was away for ten minutes") {
  const kube::ResourceKind kind = copies_of(kNode);
  kube::ReflectorOptions options = AgentOptions().reflect;
  options.streaming = false;
  options.seed = 1;
  kube::Reflector reflector(kind, options);
  reflector.next();
  reflector.listed("", "100");
  kube::ReflectorStep step = reflector.next();
  std::chrono::nanoseconds away{};
  while (away < std::chrono::minutes(10)) {
    const Error error(ErrorCode::kUnavailable, "nobody listens");
    if (step.kind == kube::ReflectorStep::Kind::kWatch)
      reflector.watch_failed(error);
    else
      reflector.list_failed(error);
    step = reflector.next();
    away += step.wait;
    CHECK(step.wait <= kHeartbeatInterval);
  }
  REQUIRE(step.kind == kube::ReflectorStep::Kind::kListFromStart);
  CHECK(step.query.text().find("resourceVersion=100") != std::string::npos);
}

}  // namespace flexlocal::provisioner::test
