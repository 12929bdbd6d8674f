// Lists that come as a watch's first events: what is asked for, what is taken in, and what is done
// with servers that have none.
#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "provisioner/kube/informer.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::kube::test {
namespace {

using Kind = ReflectorStep::Kind;
using std::chrono::milliseconds;

const std::string kFirstList =
    "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&"
    "resourceVersionMatch=NotOlderThan";

std::string object(std::string_view name, int version, std::string_view by = "us.io") {
  return concat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version,
                R"("},"by":")", by, R"("})");
}

std::string page(const std::vector<std::string>& items, int version) {
  return concat(R"({"metadata":{"resourceVersion":")", version, R"("},"items":[)", join(items, ","),
                "]}");
}

std::string event(std::string_view type, std::string_view object_text) {
  return concat(R"({"type":")", type, R"(","object":)", object_text, "}\n");
}

std::string bookmark(int version) {
  return event("BOOKMARK", concat(R"({"metadata":{"resourceVersion":")", version, R"("}})"));
}

std::string end_of_list(int version) {
  return event("BOOKMARK", concat(R"({"metadata":{"resourceVersion":")", version,
                                  R"(","annotations":{"k8s.io/initial-events-end":"true"}}})"));
}

std::string status(int code, std::string_view message) {
  return concat(R"({"kind":"Status","code":)", code, R"(,"message":")", message, R"("})");
}

// Only what is ours is kept.
std::optional<std::string> name_of(JsonView thing) {
  if (thing["by"].text() != "us.io") return std::nullopt;
  return std::string(thing["metadata"]["name"].text());
}

ReflectorOptions quick_options() {
  ReflectorOptions quick;
  quick.backoff = {milliseconds(1), milliseconds(5)};
  quick.shortest_watch = std::chrono::seconds(60);  // so that no machine is too slow
  quick.seed = 1;
  return quick;
}

struct Fixture : Lab {
  std::vector<Reply> replies;
  std::size_t next = 0;
  ScriptedServer server{io, [this](const Seen&) {
                          return next < replies.size() ? replies[next++]
                                                       : stream({}, Reply::End::kHang);
                        }};
  std::unique_ptr<CurlHttp> http = make_http();
  ApiClient api{*http, clock, ApiOptions{.limit = {}}};
  std::vector<std::string> changed;
  ReflectorOptions options = quick_options();
  std::unique_ptr<Informer<std::string>> informer;

  std::unique_ptr<CurlHttp> make_http() {
    ClusterConfig config;
    config.server = server.url();
    return std::move(*CurlHttp::make(io, clock, log, config));
  }
  void start(std::vector<std::string> marks = {}) {
    const ResourceKind kind{"things", "/things", "", "", std::move(marks)};
    informer = std::make_unique<Informer<std::string>>(api, log, kind, name_of, options);
    informer->on_change([this](const std::string& key) { changed.push_back(key); });
    tasks.spawn(informer->run());
  }
  bool knows(const std::string& key) const { return informer->get(key) != nullptr; }
  bool synced() const { return informer->has_synced(); }
  std::string query(std::size_t request) const {
    const std::string& target = server.seen().at(request).target;
    return target.substr(target.find('?') + 1);
  }
  bool asks_for_stream(std::size_t request) const { return query(request).starts_with(kFirstList); }
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a list comes as a stream, is complete at its bookmark, and goes on") {
  replies = {stream({event("ADDED", object("b", 7)), event("ADDED", object("a", 3)),
                     end_of_list(10), event("ADDED", object("c", 11))},
                    Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return knows("c"); }));
  CHECK(synced());
  CHECK(informer->size() == 3);
  REQUIRE(server.seen().size() == 1);
  CHECK(asks_for_stream(0));
  CHECK(query(0).find("resourceVersion=") == std::string::npos);
  CHECK(query(0).find("limit=") == std::string::npos);
  CHECK(informer->stats().streamed_lists.value() == 1);
  CHECK(informer->stats().watch_failures.value() == 0);
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "before its end a stream is no complete list") {
  replies = {stream({event("ADDED", object("a", 3))}, Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return knows("a"); }));
  CHECK_FALSE(synced());
}

TEST_CASE_FIXTURE(Fixture, "what changes while the list is on its way is as it was in the end") {
  replies = {stream(
      {event("ADDED", object("a", 3)), event("ADDED", object("b", 2)),
       event("MODIFIED", object("a", 11)), event("DELETED", object("b", 12)), end_of_list(12)},
      Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(knows("a"));
  CHECK_FALSE(knows("b"));
  CHECK(changed == std::vector<std::string>{"a", "b", "a", "b"});
}

TEST_CASE_FIXTURE(Fixture, "a later stream is not older, and what it does not name is gone") {
  replies = {stream({event("ADDED", object("a", 3)), event("ADDED", object("b", 2)),
                     event("ADDED", object("c", 4)), end_of_list(10),
                     event("ERROR", status(410, "too old"))},
                    Reply::End::kHang),
             stream({event("ADDED", object("b", 2)), event("ADDED", object("c", 4)),
                     event("DELETED", object("c", 21)), end_of_list(21)},
                    Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return synced() && !knows("a"); }));
  CHECK(knows("b"));
  CHECK_FALSE(knows("c"));
  CHECK(changed == std::vector<std::string>{"a", "b", "c", "c", "a"});
  REQUIRE(server.seen().size() == 2);
  CHECK(asks_for_stream(1));
  CHECK(server.seen()[1].query("resourceVersion") == "10");
}

TEST_CASE_FIXTURE(Fixture, "objects of a stream that do not concern us are not decoded") {
  replies = {stream({event("ADDED", object("a", 3)), event("ADDED", object("x", 2, "them.io")),
                     event("DELETED", object("x", 9, "them.io")), end_of_list(10)},
                    Reply::End::kHang)};
  start({"\"us.io\""});
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(informer->stats().passed_over.value() == 2);
  CHECK(informer->size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "our own write of meanwhile survives the list's end") {
  replies = {stream({event("ADDED", object("a", 3))}, Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return knows("a"); }));
  const auto answer = JsonDocument::parse(object("mine", 12));
  informer->put(answer->root());
  replies.push_back(stream({event("ADDED", object("a", 3)), end_of_list(11)}, Reply::End::kHang));
  server.stop();
  server.start();
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(knows("mine"));
}

// 422: the gate is off, or the server is older than the feature. 400: so say some proxies.
TEST_CASE_FIXTURE(Fixture, "a server that refuses streams is asked for plain lists from then on") {
  int code = 0;
  SUBCASE("as invalid") { code = 422; }
  SUBCASE("as a bad request") { code = 400; }
  replies = {body(status(code, "sendInitialEvents is forbidden"), code),
             body(page({object("a", 1)}, 10)), body("{}", 410),
             body(page({object("a", 1), object("b", 11)}, 20))};
  start();
  REQUIRE(run_until([&] { return knows("b"); }));
  REQUIRE(run_until([&] { return server.seen().size() == 5; }));
  CHECK(asks_for_stream(0));
  CHECK(query(1) == "limit=500");
  CHECK(query(3) == "resourceVersion=10");
  CHECK(server.seen()[4].query("resourceVersion") == "20");
  CHECK(informer->stats().list_failures.value() == 0);
  CHECK(log.lines[0].find("level=info msg=\"the API server has no streaming lists") == 0);
  CHECK(log.lines[0].find("sendInitialEvents is forbidden") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "where the first list may be old, the plain one comes from the cache") {
  options.first = FirstList::kFromCache;
  replies = {body("{}", 422), body(page({object("a", 1)}, 10))};
  start();
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(query(1) == "resourceVersion=0");
}

TEST_CASE_FIXTURE(Fixture, "an ERROR in place of the objects leads to plain lists") {
  replies = {
      stream({event("ERROR", status(500, "the storage cannot do that"))}, Reply::End::kOrderly),
      body(page({object("a", 1)}, 10))};
  start();
  REQUIRE(run_until([&] { return synced() && knows("a"); }));
  CHECK(query(1) == "limit=500");
  CHECK(log.has("the storage cannot do that"));
}

// A server of before there were streaming lists knows none of the parameters.
TEST_CASE_FIXTURE(Fixture, "an ordinary watch in a stream's place is recognised") {
  SUBCASE("by a bookmark that does not end the list") {
    replies = {stream({event("ADDED", object("x", 3)), bookmark(10)}, Reply::End::kHang)};
  }
  SUBCASE("by its end") {
    replies = {stream({event("ADDED", object("x", 3))}, Reply::End::kOrderly)};
  }
  SUBCASE("by its silence") {
    options.stall = milliseconds(50);
    replies = {stream({event("ADDED", object("x", 3))}, Reply::End::kHang)};
  }
  replies.push_back(body(page({object("a", 1)}, 10)));
  start();
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(knows("a"));
  CHECK_FALSE(knows("x"));
  REQUIRE(server.seen().size() >= 2);
  CHECK(query(1) == "limit=500");
  CHECK(log.has("has no streaming lists"));
}

TEST_CASE_FIXTURE(Fixture, "an ordinary watch that brings nothing of ours is recognised as well") {
  replies = {stream({event("ADDED", object("x", 3, "them.io"))}, Reply::End::kOrderly),
             body(page({object("a", 1)}, 10))};
  start({"\"us.io\""});
  REQUIRE(run_until([&] { return synced(); }));
  CHECK(log.has("has no streaming lists"));
}

TEST_CASE_FIXTURE(Fixture, "a server that is busy or broken is asked for the stream again") {
  SUBCASE("throttled") { replies = {body("{}", 429)}; }
  SUBCASE("throttled in the stream") {
    replies = {stream({event("ERROR", status(429, "later"))}, Reply::End::kOrderly)};
  }
  SUBCASE("cut off") { replies = {stream({event("ADDED", object("x", 3))}, Reply::End::kCut)}; }
  SUBCASE("a version that it has not had yet") {
    replies = {
        stream({event("ADDED", object("x", 3)), end_of_list(9), event("ERROR", status(410, "old"))},
               Reply::End::kHang),
        stream({event("ERROR", R"({"kind":"Status","code":504,"details":{"causes":[)"
                               R"({"reason":"ResourceVersionTooLarge"}]}})")},
               Reply::End::kOrderly)};
  }
  const std::size_t failing = replies.size();
  replies.push_back(stream({event("ADDED", object("a", 3)), end_of_list(10)}, Reply::End::kHang));
  start();
  REQUIRE(run_until([&] { return knows("a") && !knows("x"); }));
  CHECK(asks_for_stream(failing));
  CHECK(query(failing).find("resourceVersion=") == std::string::npos);
}

TEST_CASE("a stream that cannot be had for long is replaced by a plain list, this once") {
  ReflectorOptions options = quick_options();
  const ResourceKind kind{"things", "/things", "", ""};
  Reflector reflector(kind, options);
  const auto fail = [&](ErrorCode code) { reflector.stream_failed(Error(code, "it failed")); };
  SUBCASE("not reached") {
    for (unsigned i = 0; i < options.most_streams; ++i) {
      CHECK(reflector.next().kind == Kind::kStream);
      fail(ErrorCode::kUnavailable);
    }
  }
  SUBCASE("the cache does not come up to what etcd has") {
    CHECK(reflector.next().kind == Kind::kStream);
    fail(ErrorCode::kGone);
  }
  SUBCASE("the cache is being rebuilt") {
    CHECK(reflector.next().kind == Kind::kStream);
    reflector.stream_ended(milliseconds(3));
  }
  SUBCASE("a stream was broken off where there had been a whole one") {
    CHECK(reflector.next().kind == Kind::kStream);
    reflector.listed("", "9");
    CHECK(reflector.next().kind == Kind::kWatch);
    reflector.watch_failed(Error(ErrorCode::kGone, "old"));
    CHECK(reflector.next().kind == Kind::kStream);
    SUBCASE("in silence") { reflector.stream_silent(); }
    SUBCASE("by its end") { reflector.stream_ended(options.shortest_watch); }
    SUBCASE("by an answer of another server") { fail(ErrorCode::kInvalid); }
  }
  const ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kListFromStart);
  CHECK(step.wait >= milliseconds(1));
  reflector.listed("", "10");
  CHECK(reflector.next().kind == Kind::kWatch);
  reflector.watch_failed(Error(ErrorCode::kGone, "old"));
  CHECK(reflector.next().kind == Kind::kStream);
  CHECK(reflector.streams());
}

}  // namespace flexlocal::kube::test
