// Http by libcurl's multi interface on Asio's event loop.
#pragma once

#include <memory>

#include "flexvolume/base/log.h"
#include "provisioner/kube/config.h"
#include "provisioner/kube/exec_credentials.h"
#include "provisioner/kube/http.h"

namespace flexlocal::kube {

class CurlEngine;

struct CurlHttpOptions {
  std::string user_agent;  // empty: "flexlocal-provisioner/<version>"
  // Longest answer that send() keeps, and most of a streamed one that waits to be taken, after
  // decompression; more: kNoSpace, and lists are read in smaller pages. With its tree it takes
  // twice that in memory.
  Bytes largest_body{16 * kMiB.count()};
  // To a connection that can be used, TLS included.
  std::chrono::milliseconds connect_deadline = std::chrono::seconds(10);
  // A peer that acknowledges nothing for about this long is given up on, streams included: TCP
  // keepalive probes, and TCP_USER_TIMEOUT for what has been sent.
  std::chrono::seconds dead_peer = std::chrono::seconds(30);
  // Most of the cost of a small piece of a stream that trickles is that of waking up for it. So the
  // first one after a pause is read at once, and what comes within so long after it is read
  // together. Zero: all is read at once.
  std::chrono::milliseconds gather = std::chrono::milliseconds(50);
  // Credential files are looked at again no more often than this.
  std::chrono::milliseconds reload_interval = std::chrono::seconds(1);
  // Of the configuration's credential program, if it names one.
  ExecOptions exec;
};

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
