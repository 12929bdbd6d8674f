// Http without a network: answers come from a function of the test's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "provisioner/kube/http.h"
#include "test/unit/kube/byte_sink.h"

namespace flexlocal::kube::test {

class FakeHttp final : public Http {
 public:
  std::function<Result<HttpResponse>(const HttpRequest&)> answer =
      [](const HttpRequest&) -> Result<HttpResponse> {
    return HttpResponse{.status = 200, .body = "{}", .retry_after = {}};
  };
  std::vector<HttpRequest> seen;

  Task<Result<HttpResponse>> send(const HttpRequest& request) override {
    seen.push_back(request);
    co_return answer(request);
  }
  Task<Result<HttpResponse>> stream(const HttpRequest& request, ByteSink& sink) override {
    seen.push_back(request);
    auto response = answer(request);
    co_return deliver(std::move(response), sink);
  }
};

}  // namespace flexlocal::kube::test
