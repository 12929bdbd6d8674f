// HTTP as this daemon needs it of one server: requests with an answer, and answers that never end.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "provisioner/kube/async.h"

namespace flexlocal::kube {

enum class Method { kGet, kPost, kPut, kPatch, kDelete };

std::string_view to_string(Method method);

struct HttpRequest {
  Method method = Method::kGet;
  std::string target;  // escaped path and query: "/api/v1/nodes?limit=500"
  std::string body;
  std::string content_type = "application/json";  // sent only with a body
  // From the call to the last byte of the answer, waiting for a connection included. kDeadline
  // after it. Default: longer than the 60 s that the API server itself gives a request is of no
  // use; half of it leaves time for another try.
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  // stream() only: longest silence between two pieces of the answer; zero: no limit but the
  // deadline. A connection that is dead below HTTP is noticed without it, see curl_http.h.
  std::chrono::milliseconds stall{0};
  // stream() only: an answer without an end, that comes in small pieces. It is not compressed, for
  // that would hold them back; and pieces that come close together are taken in together, see
  // CurlHttpOptions::gather.
  bool trickles = false;
};

struct HttpResponse {
  int status = 0;
  std::string body;
  // The server's Retry-After, when it was sent as a number of seconds.
  std::optional<std::chrono::seconds> retry_after;
  // The server has API priority and fairness, and put this request into one of its flows.
  bool has_flow = false;

  bool success() const { return status >= 200 && status < 300; }
};

// Takes the bytes of a streamed answer as they come, cut anywhere. An error refuses the rest: the
// request is cancelled and stream() returns that error.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status take(std::string_view bytes) = 0;
};

// An Error means that there is no complete answer: kUnavailable (not reached, cut off), kDenied
// (TLS refused), kDeadline, kNoSpace (over the size limit), kCancelled. Every HTTP status is an
// answer. The request must live until the task has ended.
class Http {
 public:
  virtual ~Http() = default;

  virtual Task<Result<HttpResponse>> send(const HttpRequest& request) = 0;

  // A 2xx body goes to `sink` piece by piece and HttpResponse::body stays empty; any other
  // answer comes whole, as from send(). Success only when the server ended the answer in order.
  virtual Task<Result<HttpResponse>> stream(const HttpRequest& request, ByteSink& sink) = 0;
};

}  // namespace flexlocal::kube
