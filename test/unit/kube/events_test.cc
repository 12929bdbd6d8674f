#include "provisioner/kube/events.h"

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/timestamp.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

using Kind = EventWrite::Kind;
using std::chrono::minutes;
using std::chrono::seconds;

const Clock::Wall kNow{seconds(1'700'000'000)};

EventNote note(std::string message = "made") {
  return {.object = {.kind = "PersistentVolumeClaim",
                     .namespace_name = "shop",
                     .name = "data",
                     .uid = "u-1",
                     .api_version = "v1",
                     .resource_version = "7"},
          .type = EventType::kNormal,
          .reason = "ProvisioningSucceeded",
          .message = std::move(message)};
}

struct Fixture : Lab {
  FakeHttp http;
  ApiClient api{http, clock, ApiOptions{.limit = {}}};
  EventRecorder recorder{api, clock, log, {"flexlocal.io", "node-1"}};

  void write_all() {
    recorder.shut_down();
    tasks.spawn(recorder.run());
    REQUIRE(run_until([&] { return tasks.running() == 0; }));
  }
};

}  // namespace

TEST_CASE("an event says what, about which object, when and from where") {
  EventCorrelator correlator({"flexlocal.io", "node-1"});
  const EventWrite write = correlator.plan(note(), kNow);
  CHECK(write.kind == Kind::kCreate);
  CHECK(write.namespace_name == "shop");
  CHECK(write.name == "data.17979cfe362a0000");
  const auto body = JsonDocument::parse(write.body);
  REQUIRE(body.ok());
  const JsonView event = body->root();
  CHECK(event["metadata"]["name"].text() == write.name);
  CHECK(event["involvedObject"]["uid"].text() == "u-1");
  CHECK(event["involvedObject"]["namespace"].text() == "shop");
  CHECK(event["type"].text() == "Normal");
  CHECK(event["reason"].text() == "ProvisioningSucceeded");
  CHECK(event["source"]["component"].text() == "flexlocal.io");
  CHECK(event["source"]["host"].text() == "node-1");
  CHECK(event["firstTimestamp"].text() == "2023-11-14T22:13:20Z");
  CHECK(event["count"].integer() == 1);
}

TEST_CASE("events of cluster-scoped objects live in namespace default") {
  EventCorrelator correlator({"flexlocal.io", ""});
  EventNote about_volume = note();
  about_volume.object.namespace_name.clear();
  const EventWrite write = correlator.plan(about_volume, kNow);
  CHECK(write.namespace_name == "default");
  const auto body = JsonDocument::parse(write.body);
  CHECK(body->root()["metadata"]["namespace"].text() == "default");
  CHECK_FALSE(body->root()["involvedObject"]["namespace"].exists());
}

TEST_CASE("the same event within ten minutes raises the count of the first") {
  EventCorrelator correlator({"flexlocal.io", ""});
  const EventWrite first = correlator.plan(note(), kNow);
  const EventWrite second = correlator.plan(note(), kNow + minutes(9));
  CHECK(second.kind == Kind::kPatch);
  CHECK(second.name == first.name);
  CHECK(second.body == R"({"count":2,"lastTimestamp":"2023-11-14T22:22:20Z"})");
  CHECK(correlator.plan(note("other"), kNow).kind == Kind::kCreate);
  CHECK(correlator.plan(note(), kNow + minutes(20)).kind == Kind::kCreate);
}

TEST_CASE("only so many events are remembered, the latest") {
  EventCorrelator correlator({"flexlocal.io", ""}, 2);
  correlator.plan(note("a"), kNow);
  correlator.plan(note("b"), kNow);
  CHECK(correlator.plan(note("a"), kNow).kind == Kind::kPatch);
  correlator.plan(note("c"), kNow);
  CHECK(correlator.plan(note("a"), kNow).kind == Kind::kPatch);
  CHECK(correlator.plan(note("b"), kNow).kind == Kind::kCreate);
}

TEST_CASE("of events that differ in their figures alone only so many become objects") {
  EventCorrelator correlator({"flexlocal.io", ""});
  for (unsigned i = 0; i < EventCorrelator::kMostAlike; ++i)
    CHECK(correlator.plan(note(concat(i, " bytes")), kNow).kind == Kind::kCreate);
  const EventWrite combined = correlator.plan(note("100 bytes"), kNow);
  CHECK(combined.kind == Kind::kCreate);
  CHECK(combined.body.find("(and others of this kind) 100 bytes") != std::string::npos);
  for (int minute = 1; minute < 60; ++minute) {
    const EventWrite next = correlator.plan(note(concat(minute, " GB")), kNow + minutes(minute));
    CHECK(next.kind == Kind::kPatch);
    CHECK(next.name == combined.name);
    CHECK(next.body.find(concat("of this kind) ", minute, " GB")) != std::string::npos);
    CHECK(next.body.find(concat(R"("count":)", minute + 1)) != std::string::npos);
  }
  EventNote other = note("for another reason");
  other.reason = "Other";
  CHECK(correlator.plan(other, kNow).kind == Kind::kCreate);
  CHECK(correlator.plan(note("later"), kNow + minutes(70)).kind == Kind::kCreate);
}

TEST_CASE("each volume that is told of on a Node has an event of its own") {
  EventCorrelator correlator({"flexlocal.io", ""});
  for (unsigned i = 0; i < 4 * EventCorrelator::kMostAlike; ++i) {
    EventNote orphan = note(concat("volume ", i, " is an orphan"));
    orphan.object.kind = "Node";
    const EventWrite write = correlator.plan(orphan, kNow);
    CHECK(write.kind == Kind::kCreate);
    CHECK(write.body.find(orphan.message) != std::string::npos);
  }
}

TEST_CASE("one of many events that is repeated raises its own count") {
  EventCorrelator correlator({"flexlocal.io", ""});
  const EventWrite first = correlator.plan(note("first"), kNow);
  for (unsigned i = 0; i < 2 * EventCorrelator::kMostAlike; ++i)
    correlator.plan(note(concat(i, " bytes")), kNow);
  const EventWrite again = correlator.plan(note("first"), kNow);
  CHECK(again.kind == Kind::kPatch);
  CHECK(again.name == first.name);
  CHECK(again.body.find("message") == std::string::npos);
}

TEST_CASE("a long message is cut between two characters") {
  EventCorrelator correlator({"flexlocal.io", ""});
  const EventWrite write = correlator.plan(note(std::string(1023, 'x') + "\u00e4\u00e4"), kNow);
  const auto body = JsonDocument::parse(write.body);
  REQUIRE(body.ok());
  CHECK(body->root()["message"].text() == std::string(1023, 'x'));
}

TEST_CASE_FIXTURE(Fixture, "events are written in order, repeated ones as a patch") {
  recorder.record(note("one"));
  recorder.record(note("two"));
  recorder.record(note("one"));
  write_all();
  REQUIRE(http.seen.size() == 3);
  CHECK(http.seen[0].method == Method::kPost);
  CHECK(http.seen[0].target == "/api/v1/namespaces/shop/events");
  CHECK(http.seen[2].method == Method::kPatch);
  CHECK(http.seen[2].target.starts_with("/api/v1/namespaces/shop/events/data."));
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "an event that has expired meanwhile is created anew") {
  http.answer = [](const HttpRequest& request) -> Result<HttpResponse> {
    const int status = request.method == Method::kPatch ? 404 : 201;
    return HttpResponse{.status = status, .body = "{}", .retry_after = {}};
  };
  recorder.record(note());
  recorder.record(note());
  write_all();
  REQUIRE(http.seen.size() == 3);
  CHECK(http.seen[1].method == Method::kPatch);
  CHECK(http.seen[2].method == Method::kPost);
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "an event that cannot be written is logged once and holds nothing up") {
  http.answer = [](const HttpRequest&) -> Result<HttpResponse> {
    return Error(ErrorCode::kUnavailable, "no server");
  };
  recorder.record(note());
  write_all();
  CHECK(log.lines.size() == 1);
  CHECK(log.has("event not written"));
}

TEST_CASE_FIXTURE(Fixture, "a flood of events is dropped, not kept") {
  for (std::size_t i = 0; i < EventRecorder::kMostWaiting + 1; ++i)
    recorder.record(note(concat(i)));
  CHECK(log.lines.size() == 1);
  CHECK(log.has("event dropped"));
}

TEST_CASE("times are written and read as the API server does") {
  const Clock::Wall time = kNow + std::chrono::microseconds(250);
  CHECK(format_time(time) == "2023-11-14T22:13:20Z");
  CHECK(format_micro_time(time) == "2023-11-14T22:13:20.000250Z");
  CHECK(parse_time("2023-11-14T22:13:20Z") == kNow);
  CHECK(parse_time("2023-11-14T22:13:20.000250Z") == time);
  for (const char* const text :
       {"", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13:20+01:00",
        "2023-11-14T22:13:20.Z", "2023-11-14T22:13:20.12x4Z", "never at allXXXXXXXXXZ"})
    CHECK_FALSE(parse_time(text));
}

TEST_CASE("times of other zones are read where they may occur") {
  CHECK(parse_zoned_time("2023-11-14T22:13:20Z") == kNow);
  CHECK(parse_zoned_time("2023-11-14T23:43:20+01:30") == kNow);
  CHECK(parse_zoned_time("2023-11-14T14:13:20.000250-08:00") ==
        kNow + std::chrono::microseconds(250));
  for (const char* const text :
       {"", "2023-11-14T22:13:20", "2023-11-14T22:13:20+0100", "2023-11-14T22:13:20+24:00",
        "2023-11-14T22:13:20*01:00", "+01:00"})
    CHECK_FALSE(parse_zoned_time(text));
}

}  // namespace flexlocal::kube::test
