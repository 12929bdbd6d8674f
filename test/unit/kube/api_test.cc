#include "provisioner/kube/api.h"

#include "flexvolume/base/text.h"
#include "test/unit/kube/fake_http.h"
#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kPath = "/api/v1/things/x";

struct Fixture : Lab {
  FakeHttp http;
  ApiClient api{http, clock, ApiOptions{.limit = {}}};

  void answer(int status, std::string body, std::optional<seconds> retry_after = {}) {
    http.answer = [=](const HttpRequest&) -> Result<HttpResponse> {
      return HttpResponse{.status = status, .body = body, .retry_after = retry_after};
    };
  }
};

ErrorCode code_of(int status, std::string_view reason) {
  return error_of_answer(status, concat(R"({"kind":"Status","reason":")", reason, R"("})")).code();
}

}  // namespace

TEST_CASE("paths are built from group, namespace and name, and everything is escaped") {
  CHECK(object_path("v1", "nodes", "", "") == "/api/v1/nodes");
  CHECK(object_path("v1", "pods", "a", "b") == "/api/v1/namespaces/a/pods/b");
  CHECK(object_path("storage.k8s.io/v1", "csidrivers", "", "flexlocal.io") ==
        "/apis/storage.k8s.io/v1/csidrivers/flexlocal.io");
  CHECK(object_path("v1", "pods", "../x", "a/b?c") == "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc");
  CHECK(Query().add("a", "x=y&z").add("b", "").add("c", "1").text() == "a=x%3Dy%26z&c=1");
  CHECK(escape("Az09-._~") == "Az09-._~");
  CHECK(escape(std::string_view("\0\xff +", 4)) == "%00%FF%20%2B");
  CHECK(escape(std::string_view("ab").substr(1, 0)).empty());
}

TEST_CASE("HTTP codes and reasons become codes to branch on") {
  CHECK(code_of(400, "BadRequest") == ErrorCode::kInvalid);
  CHECK(code_of(401, "Unauthorized") == ErrorCode::kDenied);
  CHECK(code_of(403, "Forbidden") == ErrorCode::kDenied);
  CHECK(code_of(404, "NotFound") == ErrorCode::kNotFound);
  CHECK(code_of(409, "AlreadyExists") == ErrorCode::kExists);
  CHECK(code_of(409, "Conflict") == ErrorCode::kConflict);
  CHECK(code_of(410, "Expired") == ErrorCode::kGone);
  CHECK(code_of(422, "Invalid") == ErrorCode::kInvalid);
  CHECK(code_of(429, "TooManyRequests") == ErrorCode::kUnavailable);
  CHECK(code_of(500, "InternalError") == ErrorCode::kUnavailable);
  CHECK(code_of(504, "Timeout") == ErrorCode::kUnavailable);
  CHECK(error_of_answer(504, R"({"kind":"Status","reason":"Timeout","details":{"causes":[
          {"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}})")
            .code() == ErrorCode::kGone);
  CHECK(error_of_answer(502, "<html>Bad\nGateway").message() == "HTTP 502: <html>Bad?Gateway");
}

TEST_CASE_FIXTURE(Fixture, "an error carries the call and the server's own words") {
  answer(404, R"({"kind":"Status","reason":"NotFound","message":"things \"x\" not found"})");
  const auto got = wait_for(api.get(kPath));
  REQUIRE_FALSE(got.ok());
  CHECK(got.error().code() == ErrorCode::kNotFound);
  CHECK(got.error().message() == "GET /api/v1/things/x: HTTP 404 NotFound: things \"x\" not found");
}

TEST_CASE_FIXTURE(Fixture, "each verb is sent as the API wants it") {
  const std::string body = R"({"a":1})";
  const Preconditions guards{"u-1", "42"};
  CHECK(wait_for(api.create(kPath, body)).ok());
  CHECK(wait_for(api.replace(kPath, body)).ok());
  CHECK(wait_for(api.merge_patch(kPath, body)).ok());
  CHECK(wait_for(api.delete_object(kPath, guards)).ok());
  REQUIRE(http.seen.size() == 4);
  CHECK(http.seen[0].method == Method::kPost);
  CHECK(http.seen[1].method == Method::kPut);
  CHECK(http.seen[2].method == Method::kPatch);
  CHECK(http.seen[2].content_type == "application/merge-patch+json");
  CHECK(http.seen[2].body == body);
  CHECK(http.seen[3].method == Method::kDelete);
  const auto options = JsonDocument::parse(http.seen[3].body);
  CHECK(options->root()["preconditions"]["uid"].text() == "u-1");
  CHECK(options->root()["preconditions"]["resourceVersion"].text() == "42");
}

TEST_CASE_FIXTURE(Fixture, "an answer that is no JSON is corrupt") {
  answer(200, "<html>");
  const auto got = wait_for(api.get(kPath));
  REQUIRE_FALSE(got.ok());
  CHECK(got.error().code() == ErrorCode::kCorrupt);
}

TEST_CASE_FIXTURE(Fixture, "a failed call is not repeated in secret") {
  answer(503, "");
  CHECK_FALSE(wait_for(api.get(kPath)).ok());
  CHECK(http.seen.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "Retry-After holds back later calls, but not beyond the longest pause") {
  ApiClient patient(http, clock, ApiOptions{.limit = {}, .longest_pause = milliseconds(40)});
  answer(429, "", seconds(3600));
  const auto began = clock.now();
  CHECK_FALSE(wait_for(patient.get(kPath)).ok());
  answer(200, "{}");
  CHECK(wait_for(patient.get(kPath)).ok());
  CHECK(clock.now() - began >= milliseconds(40));
}

TEST_CASE_FIXTURE(Fixture, "a pause longer than the deadline is told to the caller at once") {
  ApiClient hasty(http, clock, ApiOptions{.limit = {}, .deadline = milliseconds(100)});
  answer(503, "", seconds(5));
  CHECK_FALSE(wait_for(hasty.get(kPath)).ok());
  const auto second = wait_for(hasty.get(kPath));
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().code() == ErrorCode::kUnavailable);
  CHECK(http.seen.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "a server with API priority and fairness is asked without a limit") {
  ApiOptions options{.limit = {.per_second = 0.001, .burst = 2}};
  options.deadline = milliseconds(100);
  const auto with_flow = [](bool has_flow) {
    return [has_flow](const HttpRequest&) -> Result<HttpResponse> {
      HttpResponse answer{.status = 200, .body = "{}", .retry_after = {}};
      answer.has_flow = has_flow;
      return answer;
    };
  };
  SUBCASE("it has none, or has not answered yet") {
    ApiClient limited(http, clock, options);
    http.answer = with_flow(false);
    for (int i = 0; i < 2; ++i) CHECK(wait_for(limited.get(kPath)).ok());
    CHECK_FALSE(wait_for(limited.get(kPath)).ok());
    CHECK(limited.limit().per_second == 0.001);
  }
  SUBCASE("from the first answer on that shows it, whatever later ones show") {
    ApiClient open(http, clock, options);
    http.answer = with_flow(true);
    CHECK(wait_for(open.get(kPath)).ok());
    CHECK(open.limit().per_second == 0);
    http.answer = with_flow(false);
    for (int i = 0; i < 9; ++i) CHECK(wait_for(open.get(kPath)).ok());
  }
  SUBCASE("a limit that somebody chose holds there, too") {
    options.only_without_flows = false;
    ApiClient chosen(http, clock, options);
    http.answer = with_flow(true);
    for (int i = 0; i < 2; ++i) CHECK(wait_for(chosen.get(kPath)).ok());
    CHECK_FALSE(wait_for(chosen.get(kPath)).ok());
  }
}

TEST_CASE("a bucket lets a burst through, then its rate, in the order of the calls") {
  TokenBucket bucket({.per_second = 10, .burst = 3});
  const Clock::Instant now{std::chrono::hours(1)};
  for (int i = 0; i < 3; ++i) CHECK(bucket.take(now, seconds(9)) == seconds(0));
  CHECK(bucket.take(now, seconds(9)) == milliseconds(100));
  CHECK(bucket.take(now, seconds(9)) == milliseconds(200));
  CHECK(bucket.take(now + seconds(1), seconds(9)) == seconds(0));
}

TEST_CASE("a bucket refuses waits that are too long and takes nothing for them") {
  TokenBucket bucket({.per_second = 1, .burst = 1});
  const Clock::Instant now{std::chrono::hours(1)};
  CHECK(bucket.take(now, seconds(2)) == seconds(0));
  CHECK(bucket.take(now, seconds(2)) == seconds(1));
  CHECK(bucket.take(now, seconds(2)) == seconds(2));
  for (int i = 0; i < 100; ++i) CHECK_FALSE(bucket.take(now, seconds(2)));
  CHECK(bucket.take(now + seconds(3), seconds(2)) == seconds(0));
}

TEST_CASE("a bucket without a rate never waits, and time that goes back gives nothing") {
  TokenBucket open(RateLimit{});
  for (int i = 0; i < 1000; ++i) CHECK(open.take({}, seconds(0)) == seconds(0));
  TokenBucket bucket({.per_second = 1, .burst = 1});
  const Clock::Instant now{std::chrono::hours(1)};
  CHECK(bucket.take(now, seconds(9)) == seconds(0));
  CHECK(bucket.take(now - seconds(5), seconds(9)) == seconds(1));
}

}  // namespace flexlocal::kube::test
