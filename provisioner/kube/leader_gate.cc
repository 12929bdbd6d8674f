#include "provisioner/kube/leader_gate.h"

#include <algorithm>

namespace flexlocal::kube {
namespace {

Error not_leader() { return Error(ErrorCode::kCancelled, "no longer the leader"); }

}  // namespace

Task<Result<HttpResponse>> LeaderGate::send(const HttpRequest& request) {
  const auto now = clock_.now();
  if (now >= until_) co_return not_leader();
  HttpRequest timed = request;
  if (request.method != Method::kGet) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - now);
    timed.deadline = std::min(timed.deadline, left);
  }
  auto answer = co_await http_.send(timed);
  co_return answer;
}

Task<Result<HttpResponse>> LeaderGate::stream(const HttpRequest& request, ByteSink& sink) {
  if (!is_open()) co_return not_leader();
  auto answer = co_await http_.stream(request, sink);
  co_return answer;
}

}  // namespace flexlocal::kube
