// The API server as objects: paths and JSON in, JSON or an Error out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/json.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/kube/http.h"
#include "provisioner/kube/rate_limit.h"
#include "provisioner/kube/request_stats.h"

namespace flexlocal::kube {

// "/api/v1/namespaces/default/pods/web", "/apis/storage.k8s.io/v1/storageclasses". `group_version`
// is "v1" for the core group. Empty namespace: cluster-scoped, or all namespaces; empty name: the
// collection. Every part is escaped.
std::string object_path(std::string_view group_version, std::string_view resource,
                        std::string_view namespace_name, std::string_view name);

// Percent-encoding of everything that is not unreserved (RFC 3986).
std::string escape(std::string_view text);

// "a=b&c=d" from pairs, escaped; pairs with an empty value are left out.
class Query {
 public:
  Query& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The one translator of the API server's answers: HTTP code and `Status` body to an Error that
// carries the server's message. 404 kNotFound; 409 kExists for AlreadyExists, else kConflict;
// 410, and 504 for a version that the server has not had yet, kGone; 401 and 403 kDenied; 429 and
// other 5xx kUnavailable; other 4xx kInvalid.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (StatusReason)
Error error_of_answer(int http_status, std::string_view body);
// The same of a `Status` object, as a watch's ERROR event carries it.
Error error_of_status(JsonView status);

// The delete is refused with kConflict unless the object still has this uid and version.
struct Preconditions {
  std::string uid;
  std::string resource_version;  // empty: any
};

struct ApiOptions {
  // Requests a second and at once, as --kube-api-qps and --kube-api-burst. qps 0: no limit.
  RateLimit limit{100, 200};
  // That limit is for servers without API priority and fairness. A server that has it shares itself
  // out better than its clients could, and says so in its answers: none from the first such on.
  bool only_without_flows = true;
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  // A server that asks for a longer pause (Retry-After) is asked again after this all the same.
  std::chrono::milliseconds longest_pause = std::chrono::seconds(30);
};

// Nothing is repeated in here: a failed call returns its Error, and whoever called (the work
// queue, the reflector) tries again after its own back-off. What a server says by Retry-After
// with 429 or 503 holds for the whole client: later calls wait that long before they are sent.
class ApiClient {
 public:
  ApiClient(Http& http, const Clock& clock, ApiOptions options)
      : http_(http), clock_(clock), options_(options), bucket_(options.limit) {}

  // Paths and bodies must live until the task has ended.
  Task<Result<JsonDocument>> get(const std::string& path);
  Task<Result<JsonDocument>> list(const std::string& path, const Query& query);
  // The same, with the answer's bytes going to `sink` as they come: see ListDecoder. An error
  // leaves the sink with a part of them.
  Task<Status> read_list(const std::string& path, const Query& query, ByteSink& sink);
  Task<Result<JsonDocument>> create(const std::string& path, const std::string& body);
  // create() for whoever does not ask what the server made of it: the answer is not decoded.
  Task<Status> post(const std::string& path, const std::string& body);
  // PUT: the body's resourceVersion guards it, kConflict when someone was faster.
  Task<Result<JsonDocument>> replace(const std::string& path, const std::string& body);
  // RFC 7386. With metadata.resourceVersion in the body it is guarded as replace() is.
  Task<Result<JsonDocument>> merge_patch(const std::string& path, const std::string& body);
  // An object that is not there is kNotFound; that is for the caller to take as success.
  Task<Result<JsonDocument>> delete_object(const std::string& path,
                                           const Preconditions& preconditions);

  // A watch: the answer's bytes go to `sink` until the server ends it (success), `deadline` or
  // `stall` passes (kDeadline), the sink refuses or the connection breaks.
  struct WatchLimits {
    std::chrono::milliseconds deadline;
    std::chrono::milliseconds stall{0};
  };
  Task<Status> watch(const std::string& path, const Query& query, WatchLimits limits,
                     ByteSink& sink);

  // Whether the server asked for a pause that is not over yet; the next call waits for its end.
  bool told_to_wait() const { return clock_.now() < not_before_; }
  // What holds now: see ApiOptions.
  RateLimit limit() const { return bucket_.limit(); }
  // However long that is: a call gives up when it would have to wait beyond its deadline.
  Task<Status> end_of_pause();

  // Of what was sent; a call that is refused by the rate limit never was. A watch is counted when
  // it ends, and its time is not.
  const RequestStats& stats() const { return stats_; }

 private:
  Task<Result<JsonDocument>> call(const HttpRequest& request);
  Task<Result<HttpResponse>> exchange(const HttpRequest& request, ByteSink* sink);
  Task<Status> wait_for_turn();
  void heed(const HttpResponse& response);

  Http& http_;
  const Clock& clock_;
  ApiOptions options_;
  TokenBucket bucket_;
  Clock::Instant not_before_{};
  Random random_{std::random_device()()};
  RequestStats stats_;
};

}  // namespace flexlocal::kube
