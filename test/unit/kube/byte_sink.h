// Both ends of a streamed answer, without a network: who takes it, and who gives it.
#pragma once

#include <string>
#include <utility>

#include "provisioner/kube/http.h"

namespace flexlocal::kube::test {

struct KeepingSink final : ByteSink {
  std::string all;
  bool refuses = false;
  Status take(std::string_view bytes) override {
    if (refuses) return Error(ErrorCode::kCorrupt, "not wanted");
    all += bytes;
    return {};
  }
};

// What Http::stream() makes of an answer that came in one piece.
inline Result<HttpResponse> deliver(Result<HttpResponse> answer, ByteSink& sink) {
  if (!answer || !answer->success()) return answer;
  if (auto taken = sink.take(answer->body); !taken) return taken.error();
  return HttpResponse{.status = 200, .body = {}, .retry_after = {}};
}

}  // namespace flexlocal::kube::test
