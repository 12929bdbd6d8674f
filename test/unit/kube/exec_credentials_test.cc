#include "provisioner/kube/exec_credentials.h"

#include "provisioner/kube/curl_http.h"
#include "provisioner/kube/timestamp.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/credential_program.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

// A server that takes one token, and a client whose time only moves when it is told to.
struct Fixture : Lab {
  ManualClock time;
  CredentialProgram program;
  std::string accepted = "first";
  ScriptedServer server{io, [this](const Seen& seen) {
                          Seen copy = seen;
                          const bool right = copy.headers["authorization"] == "Bearer " + accepted;
                          if (!right) return body("", 401);
                          return copy.target == "/watch" ? stream({"x"}, Reply::End::kHang)
                                                         : body("{}");
                        }};
  std::unique_ptr<CurlHttp> http;
  HttpRequest request;
  HttpRequest watch;
  KeepingSink sink;
  std::optional<Result<HttpResponse>> ended;  // of what a test starts and does not wait for

  // Before what the tasks refer to goes, also when a test ends half-way.
  ~Fixture() {
    tasks.cancel();
    run_until([this] { return tasks.running() == 0; });
  }

  Fixture() {
    ClusterConfig config;
    config.server = server.url();
    config.exec = program.program();
    auto made = CurlHttp::make(io, time, log, config);
    REQUIRE(made.ok());
    http = std::move(*made);
    request.target = "/";
    program.give_token("first");
  }
  Result<HttpResponse> send() { return wait_for(http->send(request)); }
  std::string life(minutes time_left) {
    return concat(R"(,"expirationTimestamp":")", format_time(time.wall() + time_left), '"');
  }
  // Until the program has run so often, and its answer is in.
  bool has_run(std::size_t times) {
    if (!run_until([&] { return program.runs() == times; })) return false;
    settle();
    return true;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "requests at once wait for one run of the program, and later ones for none") {
  std::vector<std::optional<Result<HttpResponse>>> answers(5);
  for (auto& answer : answers) tasks.spawn(store(http->send(request), answer));
  REQUIRE(run_until([&] { return tasks.running() == 0; }));
  for (const auto& answer : answers) CHECK((*answer)->status == 200);
  time.advance(std::chrono::hours(100));
  CHECK(send()->status == 200);
  CHECK(program.runs() == 1);
}

TEST_CASE_FIXTURE(Fixture, "after a 401 the program is asked again, once its pause is over") {
  CHECK(send()->status == 200);
  accepted = "second";
  program.give_token("second");
  CHECK(send()->status == 401);
  CHECK(send()->status == 401);
  CHECK(program.runs() == 1);
  time.advance(seconds(2));
  CHECK(send()->status == 200);
  CHECK(program.runs() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a watch goes on with what it began with, whatever is given out since") {
  watch.target = "/watch";
  tasks.spawn(store(http->stream(watch, sink), ended));
  REQUIRE(run_until([&] { return sink.all == "x"; }));
  accepted = "second";
  program.give_token("second");
  time.advance(seconds(2));
  CHECK(send()->status == 401);
  CHECK(send()->status == 200);
  CHECK_FALSE(ended.has_value());
  CHECK(server.open_connections() == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "a credential is renewed shortly before it expires, while requests go on") {
  program.give_token("first", life(minutes(10)));
  CHECK(send()->status == 200);
  time.advance(minutes(9) + seconds(30));
  program.give_token("second", life(minutes(10)));
  CHECK(send()->status == 200);  // with the first
  REQUIRE(has_run(2));
  accepted = "second";
  CHECK(run_until([&] { return send()->status == 200; }));
  CHECK(program.runs() == 2);
}

TEST_CASE_FIXTURE(Fixture,
                  "a failing program is a warning while the old credential lives, then an error") {
  program.give_token("first", life(minutes(10)));
  CHECK(send()->status == 200);
  time.advance(minutes(9) + seconds(30));
  program.run_script("echo 'role is gone' >&2; exit 1");
  CHECK(send()->status == 200);
  REQUIRE(run_until([&] { return log.has("role is gone"); }));
  CHECK(log.has("the old ones stay"));
  time.advance(minutes(1));
  const std::size_t lines = log.lines.size();
  const auto failed = send();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code() == ErrorCode::kUnavailable);
  CHECK(failed.error().message().ends_with("exit code 1: role is gone"));
  CHECK(log.lines.size() == lines);  // whoever asked handles it
  CHECK_FALSE(send().ok());
  CHECK(program.runs() == 3);  // not once more for each request
  program.run_script("cat \"$0.answer\"");
  program.give_token("first", life(minutes(10)));
  time.advance(minutes(2));
  CHECK(send()->status == 200);
}

TEST_CASE_FIXTURE(Fixture, "a program that is missing is no missing object") {
  REQUIRE(remove_file(program.program().command).ok());
  const auto failed = send();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code() == ErrorCode::kUnavailable);
}

TEST_CASE_FIXTURE(Fixture, "what has expired when it is given out is refused with its time") {
  program.give_token("first", R"(,"expirationTimestamp":"2001-01-01T00:00:00Z")");
  const auto failed = send();
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().message().find("expired at 2001-01-01T00:00:00Z") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a request waits for the program no longer than its own deadline") {
  program.run_script("exec sleep 1000");
  request.deadline = std::chrono::milliseconds(50);
  const auto overdue = send();
  REQUIRE_FALSE(overdue.ok());
  CHECK(overdue.error().code() == ErrorCode::kDeadline);
}

TEST_CASE_FIXTURE(Fixture, "a client that goes away ends its waiting requests, and its program") {
  program.run_script("exec sleep 1000");
  tasks.spawn(store(http->send(request), ended));
  REQUIRE(run_until([&] { return program.runs() == 1; }));
  http.reset();  // waits for the program's end
  REQUIRE(run_until([&] { return ended.has_value(); }));
  CHECK(ended->error().code() == ErrorCode::kCancelled);
}

}  // namespace flexlocal::kube::test
