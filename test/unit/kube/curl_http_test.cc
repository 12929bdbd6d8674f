#include "provisioner/kube/curl_http.h"

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "provisioner/kube/base64.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"
#include "test/unit/temporary_folder.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<CurlHttp> connect(Lab& lab, const ClusterConfig& config,
                                  CurlHttpOptions options = {}) {
  options.reload_interval = milliseconds(0);
  auto http = CurlHttp::make(lab.io, lab.clock, lab.log, config, options);
  REQUIRE(http.ok());
  return std::move(*http);
}

std::unique_ptr<CurlHttp> connect(Lab& lab, const ScriptedServer& server) {
  ClusterConfig config;
  config.server = server.url();
  return connect(lab, config);
}

HttpRequest get(std::string target, milliseconds deadline = std::chrono::seconds(20)) {
  HttpRequest request;
  request.target = std::move(target);
  request.deadline = deadline;
  return request;
}

Task<void> send_into(Http& http, const HttpRequest& request,
                     std::optional<Result<HttpResponse>>& into) {
  into.emplace(co_await http.send(request));
}

Task<void> stream_into(Http& http, const HttpRequest& request, ByteSink& sink,
                       std::optional<Result<HttpResponse>>& into) {
  into.emplace(co_await http.stream(request, sink));
}

}  // namespace

TEST_CASE("a request carries method, body, token and user agent, and brings the answer back") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return body("{\"a\":1}", 201); });
  ClusterConfig config;
  config.server = server.url();
  config.token.data = "secret";
  const auto http = connect(lab, config);
  HttpRequest request = get("/api/v1/things?x=1");
  request.method = Method::kPatch;
  request.body = "{}";
  request.content_type = "application/merge-patch+json";
  const auto answer = lab.wait_for(http->send(request));
  REQUIRE(answer.ok());
  CHECK(answer->status == 201);
  CHECK(answer->body == "{\"a\":1}");
  REQUIRE(server.seen().size() == 1);
  Seen seen = server.seen()[0];
  CHECK(seen.method == "PATCH");
  CHECK(seen.target == "/api/v1/things?x=1");
  CHECK(seen.body == "{}");
  CHECK(seen.headers["content-type"] == "application/merge-patch+json");
  CHECK(seen.headers["authorization"] == "Bearer secret");
  CHECK(seen.headers["user-agent"].starts_with("flexlocal-provisioner/"));
  CHECK(seen.headers["accept-encoding"] == "gzip");
}

TEST_CASE("requests one after another share a connection") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return body("{}"); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  for (int i = 0; i < 5; ++i) CHECK(lab.wait_for(http->send(request)).ok());
  CHECK(server.connections() == 1);
}

TEST_CASE("an error status is an answer, with Retry-After in seconds") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) {
    Reply reply = body("slow down", 429);
    reply.headers = {"Retry-After: 7"};
    return reply;
  });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  const auto answer = lab.wait_for(http->send(request));
  REQUIRE(answer.ok());
  CHECK(answer->status == 429);
  CHECK(answer->body == "slow down");
  CHECK(answer->retry_after == std::chrono::seconds(7));
}

TEST_CASE("an answer says whether the server has API priority and fairness") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen& seen) {
    Reply reply = body("{}");
    // HTTP/2 and proxies write it as they like.
    if (seen.target == "/flows") reply.headers = {"x-kubernetes-pf-flowschema-uid: 5d1a"};
    return reply;
  });
  const auto http = connect(lab, server);
  for (const bool flows : {false, true, false}) {
    const HttpRequest request = get(flows ? "/flows" : "/");
    const auto answer = lab.wait_for(http->send(request));
    REQUIRE(answer.ok());
    CHECK(answer->has_flow == flows);
  }
}

TEST_CASE("a compressed answer is unpacked") {
  Lab lab;
  const std::string packed = *decode_base64("H4sIAAAAAAAC/6tWKkhMzk5NUbIqKSpNrQUAieC13A8AAAA=");
  ScriptedServer server(lab.io, [&](const Seen&) {
    Reply reply = body(packed);
    reply.headers = {"Content-Encoding: gzip"};
    return reply;
  });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  CHECK(lab.wait_for(http->send(request))->body == R"({"packed":true})");
}

TEST_CASE("a server that does not answer is given up on at the deadline") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({"x"}, Reply::End::kHang); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/", milliseconds(30));
  const auto answer = lab.wait_for(http->send(request));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kDeadline);
  CHECK(lab.run_until([&] { return server.open_connections() == 0; }));
}

TEST_CASE("a stream that falls silent is given up on long before its deadline") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({"x"}, Reply::End::kHang); });
  const auto http = connect(lab, server);
  HttpRequest request = get("/");
  request.stall = milliseconds(500);
  KeepingSink sink;
  const auto answer = lab.wait_for(http->stream(request, sink));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kDeadline);
  CHECK(sink.all == "x");
}

TEST_CASE("a stream that is gathered holds up no answer") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen& seen) {
    return seen.target == "/watch" ? stream({"x"}, Reply::End::kHang) : body("answer");
  });
  ClusterConfig config;
  config.server = server.url();
  CurlHttpOptions options;
  options.gather = std::chrono::hours(1);
  const auto http = connect(lab, config, options);
  HttpRequest watch = get("/watch", std::chrono::hours(1));
  watch.trickles = true;
  KeepingSink sink;
  std::optional<Result<HttpResponse>> ended;
  TaskGroup watches(lab.io);
  watches.spawn(stream_into(*http, watch, sink, ended));
  REQUIRE(lab.run_until([&] { return sink.all == "x"; }));
  for (int i = 0; i < 3; ++i) {
    const auto answer = lab.wait_for(http->send(get("/")));
    REQUIRE(answer.ok());
    CHECK(answer->body == "answer");
  }
  CHECK_FALSE(ended.has_value());
  watches.cancel();
  CHECK(lab.run_until([&] { return ended.has_value(); }));
}

TEST_CASE("a refused connection is unavailable, and the next request finds the server again") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return body("{}"); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  server.stop();
  const auto refused = lab.wait_for(http->send(request));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kUnavailable);
  server.start();
  CHECK(lab.wait_for(http->send(request)).ok());
}

TEST_CASE("an answer that is cut off is unavailable, never half an answer") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) {
    Reply reply = body("{\"a\":");
    reply.end = Reply::End::kCut;
    return reply;
  });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  const auto answer = lab.wait_for(http->send(request));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kUnavailable);
}

TEST_CASE("an answer that ends in a reset connection is unavailable, whole or streamed") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({"x"}, Reply::End::kReset); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  KeepingSink sink;
  const auto streamed = lab.wait_for(http->stream(request, sink));
  REQUIRE_FALSE(streamed.ok());
  CHECK(streamed.error().code() == ErrorCode::kUnavailable);
  const auto whole = lab.wait_for(http->send(request));
  REQUIRE_FALSE(whole.ok());
  CHECK(whole.error().code() == ErrorCode::kUnavailable);
}

TEST_CASE("an answer over the limit is refused") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return body(std::string(2000, 'x')); });
  ClusterConfig config;
  config.server = server.url();
  CurlHttpOptions options;
  options.largest_body = kKiB;
  const auto http = connect(lab, config, options);
  const HttpRequest request = get("/");
  const auto answer = lab.wait_for(http->send(request));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kNoSpace);
}

TEST_CASE("a stream that is refused by the server brings the answer and nothing to the sink") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return body("too old", 410); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  KeepingSink sink;
  const auto answer = lab.wait_for(http->stream(request, sink));
  REQUIRE(answer.ok());
  CHECK(answer->status == 410);
  CHECK(answer->body == "too old");
  CHECK(sink.all.empty());
}

TEST_CASE("a sink that refuses ends the stream with its own error") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({"x"}, Reply::End::kHang); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/");
  KeepingSink sink;
  sink.refuses = true;
  const auto answer = lab.wait_for(http->stream(request, sink));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.error().code() == ErrorCode::kCorrupt);
  CHECK(lab.run_until([&] { return server.open_connections() == 0; }));
}

TEST_CASE("a hanging stream ends at once when its task is told to stop") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({"x"}, Reply::End::kHang); });
  const auto http = connect(lab, server);
  const HttpRequest request = get("/", std::chrono::hours(1));
  KeepingSink sink;
  std::optional<Result<HttpResponse>> answer;
  TaskGroup watches(lab.io);
  watches.spawn(stream_into(*http, request, sink, answer));
  REQUIRE(lab.run_until([&] { return sink.all == "x"; }));
  watches.cancel();
  REQUIRE(lab.run_until([&] { return answer.has_value(); }));
  CHECK(answer->error().code() == ErrorCode::kCancelled);
  CHECK(lab.run_until([&] { return server.open_connections() == 0; }));
}

TEST_CASE("requests in flight end as cancelled when the client goes away") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen&) { return stream({}, Reply::End::kHang); });
  auto http = connect(lab, server);
  const HttpRequest request = get("/", std::chrono::hours(1));
  std::optional<Result<HttpResponse>> answer;
  lab.tasks.spawn(send_into(*http, request, answer));
  REQUIRE(lab.run_until([&] { return server.seen().size() == 1; }));
  http.reset();
  REQUIRE(lab.run_until([&] { return answer.has_value(); }));
  CHECK(answer->error().code() == ErrorCode::kCancelled);
}

TEST_CASE("an event loop that dies with requests in flight leaks nothing") {
  std::optional<Result<HttpResponse>> answer;
  const HttpRequest request = get("/", std::chrono::hours(1));
  {
    SystemClock clock;
    RecordingLog log;
    asio::io_context io;
    ScriptedServer server(io, [](const Seen&) { return stream({}, Reply::End::kHang); });
    ClusterConfig config;
    config.server = server.url();
    auto http = CurlHttp::make(io, clock, log, config);
    REQUIRE(http.ok());
    TaskGroup tasks(io);
    tasks.spawn(send_into(**http, request, answer));
    while (server.seen().empty()) io.run_one_for(milliseconds(100));
  }
  CHECK_FALSE(answer.has_value());
}

TEST_CASE("a replaced token file is used by the next request") {
  Lab lab;
  const TemporaryFolder folder;
  ScriptedServer server(lab.io, [](const Seen&) { return body("{}"); });
  ClusterConfig config;
  config.server = server.url();
  config.token.file = folder.path("token");
  REQUIRE(write_file_atomically(config.token.file, "first\n", 0600).ok());
  const auto http = connect(lab, config);
  const HttpRequest request = get("/");
  CHECK(lab.wait_for(http->send(request)).ok());
  REQUIRE(write_file_atomically(config.token.file, "second\n", 0600).ok());
  CHECK(lab.wait_for(http->send(request)).ok());
  REQUIRE(remove_file(config.token.file).ok());
  CHECK(lab.wait_for(http->send(request)).ok());
  REQUIRE(server.seen().size() == 3);
  std::vector<Seen> seen = server.seen();
  CHECK(seen[0].headers["authorization"] == "Bearer first");
  CHECK(seen[1].headers["authorization"] == "Bearer second");
  CHECK(seen[2].headers["authorization"] == "Bearer second");
  CHECK(lab.log.has("the old ones stay"));
}

// kubelet renews the token of a pod before it expires: its file is a link into ..data, which is a
// link to a folder, and only that one is exchanged.
// Source: k8s.io/kubernetes/pkg/volume/util/atomic_writer.go
TEST_CASE("a token that has expired and was renewed in its projected volume is used anew") {
  Lab lab;
  const TemporaryFolder folder;
  std::string valid = "Bearer first";
  ScriptedServer server(lab.io, [&valid](const Seen& seen) {
    return body("{}", seen.headers.at("authorization") == valid ? 200 : 401);
  });
  const auto write = [&folder](const std::string& version, const std::string& token) {
    std::filesystem::create_directory(folder.path(version));
    REQUIRE(write_file_atomically(folder.path(version + "/token"), token, 0600).ok());
    std::filesystem::create_directory_symlink(version, folder.path("..data_tmp"));
    std::filesystem::rename(folder.path("..data_tmp"), folder.path("..data"));
  };
  write("..1", "first");
  std::filesystem::create_symlink("..data/token", folder.path("token"));
  ClusterConfig config;
  config.server = server.url();
  config.token.file = folder.path("token");
  const auto http = connect(lab, config);
  const HttpRequest request = get("/");
  const auto status = [&] {
    const auto answer = lab.wait_for(http->send(request));
    return answer ? answer->status : 0;
  };
  CHECK(status() == 200);
  valid = "Bearer again";  // the first one has expired
  CHECK(status() == 401);
  write("..2", "again");  // as long as the first
  CHECK(status() == 200);
  CHECK(lab.log.lines.empty());
}

TEST_CASE("a hundred requests at once are all answered") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen& seen) { return body(seen.target); });
  const auto http = connect(lab, server);
  std::vector<HttpRequest> requests;
  for (int i = 0; i < 100; ++i) requests.push_back(get(concat("/", i)));
  std::vector<std::optional<Result<HttpResponse>>> answers(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    lab.tasks.spawn(send_into(*http, requests[i], answers[i]));
  REQUIRE(lab.run_until([&] { return lab.tasks.running() == 0; }));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    REQUIRE(answers[i]->ok());
    CHECK((*answers[i])->body == requests[i].target);
  }
}

}  // namespace flexlocal::kube::test
