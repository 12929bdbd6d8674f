#include "provisioner/kube/informer.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"
#include "provisioner/kube/curl_http.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

std::string object(std::string_view name, int version) {
  return concat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version, R"("}})");
}

std::string page(const std::vector<std::string>& items, int version, std::string_view more = "") {
  return concat(R"({"kind":"ThingList","metadata":{"resourceVersion":")", version,
                R"(","continue":")", more, R"("},"items":[)", join(items, ","), "]}");
}

std::string event(std::string_view type, std::string_view object_text) {
  return concat(R"({"type":")", type, R"(","object":)", object_text, "}\n");
}

std::optional<std::string> name_of(JsonView thing) {
  return std::string(thing["metadata"]["name"].text());
}

// A server that plays `replies` one after another, then leaves every further watch hanging.
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
  Informer<std::string> informer{
      api, log, {"things", "/api/v1/things", "", "spec.x=1"}, name_of, options()};

  std::unique_ptr<CurlHttp> make_http() {
    ClusterConfig config;
    config.server = server.url();
    return std::move(*CurlHttp::make(io, clock, log, config));
  }
  static ReflectorOptions options() {
    ReflectorOptions quick;
    quick.backoff = {milliseconds(2), milliseconds(10)};
    quick.shortest_watch = milliseconds(0);
    quick.streaming = false;  // see streaming_list_test.cc
    return quick;
  }
  void start() {
    informer.on_change([this](const std::string& key) { changed.push_back(key); });
    tasks.spawn(informer.run());
  }
  bool knows(const std::string& key) const { return informer.get(key) != nullptr; }
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "an informer reads all pages before it is synced, then follows the watch") {
  replies = {body(page({object("a", 1), object("b", 2)}, 10, "more")),
             body(page({object("c", 3)}, 10)),
             stream({event("ADDED", object("d", 11)), event("DELETED", object("a", 12))},
                    Reply::End::kHang)};
  start();
  CHECK(wait_for(informer.wait_synced()).ok());
  REQUIRE(run_until([&] { return knows("d") && !knows("a"); }));
  CHECK(informer.size() == 3);
  CHECK(changed == std::vector<std::string>{"a", "b", "c", "d", "a"});
  REQUIRE(server.seen().size() == 3);
  CHECK(server.seen()[0].query("limit") == "500");
  CHECK(server.seen()[0].query("fieldSelector") == "spec.x%3D1");
  CHECK(server.seen()[1].query("continue") == "more");
  CHECK(server.seen()[2].query("resourceVersion") == "10");
  CHECK(server.seen()[2].query("allowWatchBookmarks") == "true");
}

TEST_CASE_FIXTURE(Fixture, "lists are asked for and read compressed, watches are not") {
  Reply packed = body(*decode_base64(
      "H4sIAAAAAAACA6tWyk0tSUxJLElUsqpWKkotzi8tSk4NSy0qzszPU7JSMjRQqtVRyixJzS1WsoquRlGdl5ibClRSkJi"
      "cnZqipINNt1JtbWwtAEnqbJJkAAAA"));
  packed.headers = {"Content-Encoding: gzip"};
  replies = {packed};
  start();
  REQUIRE(run_until([&] { return knows("packed") && server.seen().size() == 2; }));
  std::vector<Seen> seen = server.seen();
  CHECK(seen[0].headers["accept-encoding"] == "gzip");
  CHECK(seen[1].query("watch") == "true");
  CHECK(seen[1].headers["accept-encoding"].empty());
}

TEST_CASE_FIXTURE(Fixture, "a watch cut in mid-event is resumed and the event comes whole") {
  const std::string whole = event("ADDED", object("b", 12));
  replies = {body(page({object("a", 1)}, 10)),
             stream({event("ADDED", object("x", 11)), whole.substr(0, 20)}, Reply::End::kCut),
             stream({whole.substr(0, 30), whole.substr(30)}, Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return knows("b"); }));
  REQUIRE(server.seen().size() == 3);
  CHECK(server.seen()[2].query("resourceVersion") == "11");
  CHECK(changed == std::vector<std::string>{"a", "x", "b"});
}

TEST_CASE_FIXTURE(Fixture, "an orderly end resumes from the last bookmark without a list") {
  replies = {
      body(page({}, 10)),
      stream({event("BOOKMARK", R"({"metadata":{"resourceVersion":"50"}})")}, Reply::End::kOrderly),
      stream({event("ADDED", object("a", 51))}, Reply::End::kHang)};
  start();
  REQUIRE(run_until([&] { return knows("a"); }));
  CHECK(server.seen()[2].query("resourceVersion") == "50");
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "410 Gone leads to a fresh list that tells what has vanished") {
  replies = {body(page({object("a", 1), object("b", 2)}, 10)), body("{}", 410),
             body(page({object("b", 2)}, 60))};
  start();
  REQUIRE(run_until([&] { return informer.has_synced() && !knows("a"); }));
  CHECK(knows("b"));
  CHECK(changed == std::vector<std::string>{"a", "b", "a"});
  REQUIRE(run_until([&] { return server.seen().size() == 4; }));
  CHECK(server.seen()[3].query("resourceVersion") == "60");
}

TEST_CASE_FIXTURE(Fixture, "an ERROR event leads to a fresh list") {
  replies = {body(page({object("a", 1)}, 10)),
             stream({event("ERROR", R"({"kind":"Status","code":500,"message":"lost track"})")},
                    Reply::End::kHang),
             body(page({object("b", 20)}, 20))};
  start();
  REQUIRE(run_until([&] { return knows("b") && !knows("a"); }));
  CHECK(log.has("lost track"));
}

TEST_CASE_FIXTURE(Fixture, "pages that are gone in mid-list are read again from the first") {
  replies = {body(page({object("a", 1)}, 10, "more")), body("{}", 410),
             body(page({object("b", 2)}, 20))};
  start();
  REQUIRE(run_until([&] { return informer.has_synced(); }));
  CHECK_FALSE(knows("a"));
  CHECK(knows("b"));
  CHECK(server.seen()[2].query("continue").empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "errors, garbage and lists without a version are tried again until all is well") {
  replies = {body("", 500),
             body("{\"items\":["),
             body(R"({"items":[]})"),
             body("", 403),
             body(page({object("a", 1)}, 10)),
             stream({"this is no event\n"}, Reply::End::kHang),
             body(page({object("a", 1), object("b", 2)}, 11))};
  start();
  CHECK(run_until([&] { return knows("a") && knows("b"); }));
  CHECK(changed == std::vector<std::string>{"a", "b"});
}

TEST_CASE_FIXTURE(Fixture,
                  "a server that goes away and comes back is found again, and nothing is deleted") {
  replies = {body(page({object("a", 1)}, 10))};
  start();
  REQUIRE(run_until([&] { return server.seen().size() == 2; }));
  server.stop();
  REQUIRE(run_until([&] { return log.has("watch failed"); }));
  CHECK(knows("a"));
  replies.push_back(stream({event("ADDED", object("b", 11))}, Reply::End::kHang));
  server.start();
  CHECK(run_until([&] { return knows("b"); }));
  CHECK(changed == std::vector<std::string>{"a", "b"});
}

TEST_CASE_FIXTURE(Fixture, "an informer that is told to stop leaves its hanging watch at once") {
  replies = {body(page({object("a", 1)}, 10))};
  start();
  REQUIRE(run_until([&] { return server.seen().size() == 2; }));
  tasks.cancel();
  CHECK(run_until([&] { return tasks.running() == 0; }));
  // The list's stays, for whatever is asked next.
  CHECK(run_until([&] { return server.open_connections() == 1; }));
  CHECK(log.lines.empty());
}

TEST_CASE_FIXTURE(Fixture, "our own write is in the store before the watch brings it") {
  replies = {body(page({}, 10))};
  start();
  REQUIRE(run_until([&] { return informer.has_synced(); }));
  const auto answer = JsonDocument::parse(object("mine", 12));
  informer.put(answer->root());
  CHECK(knows("mine"));
  CHECK(changed == std::vector<std::string>{"mine"});
}

}  // namespace flexlocal::kube::test
