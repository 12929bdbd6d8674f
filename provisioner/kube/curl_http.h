// Http by libcurl's multi interface on Asio's event loop.
#pragma once

#include <memory>

#include "flexvolume/base/log.h"
#include "provisioner/kube/config.h"
#include "provisioner/kube/curl_options.h"
#include "provisioner/kube/exec_credentials.h"
#include "provisioner/kube/http.h"

namespace flexlocal::kube {

class CurlEngine;

// Streams that trickle come by HTTP/2 where the server offers it by ALPN, all else by HTTP/1.1;
// connections are used again, each by one request at a time; TLS is always verified. Redirects are
// not followed and no proxy is used. Files of the configuration that change are read again: later
// requests use the new ones, those in flight are undisturbed. The same holds for what a credential
// program gives out; a request waits for it, within its deadline, while there is nothing to send
// with, and is kUnavailable when the program fails.
//
// Constructing one makes the process ignore SIGPIPE: TLS writes have no flag of their own for it.
class CurlHttp final : public Http {
 public:
  // kInvalid or the file's error when the configuration cannot be used as it is now.
  static Result<std::unique_ptr<CurlHttp>> make(asio::io_context& io, const Clock& clock, Log& log,
                                                const ClusterConfig& config,
                                                const CurlHttpOptions& options = {});
  // Requests still in flight end with kCancelled.
  ~CurlHttp() override;

  Task<Result<HttpResponse>> send(const HttpRequest& request) override;
  Task<Result<HttpResponse>> stream(const HttpRequest& request, ByteSink& sink) override;

 private:
  CurlHttp(std::shared_ptr<CurlEngine> engine, std::shared_ptr<ExecCredentials> exec);
  std::shared_ptr<CurlEngine> engine_;
  std::shared_ptr<ExecCredentials> exec_;  // null without a credential program
};

}  // namespace flexlocal::kube
