// Requests under way; libcurl itself stays in the curl_*.cc files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "provisioner/kube/credentials.h"
#include "provisioner/kube/curl_http.h"

namespace flexlocal::kube {

// One request on its way: made, started and waited for by one coroutine, in whose frame it lives.
struct Transfer {
  Transfer(std::shared_ptr<CurlEngine> by, const HttpRequest& asked, bool streams);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer();  // a request that is still under way is given up

  void finish(std::optional<Error> with);

  std::shared_ptr<CurlEngine> engine;
  const HttpRequest& request;
  const bool streaming;
  asio::steady_timer wake;  // its waiter sets it to the deadline; cancelled when there is news
  bool done = false;
  std::optional<Error> failure;
  HttpResponse response;
  std::string arrived;  // of a stream's 2xx body: what has not been handed over yet

  struct Handle;
  std::unique_ptr<Handle> handle;
};

class CurlEngine {
 public:
  CurlEngine(asio::io_context& io, ClusterConfig config, CurlHttpOptions options,
             Credentials credentials, Log& log);
  CurlEngine(const CurlEngine&) = delete;
  CurlEngine& operator=(const CurlEngine&) = delete;
  ~CurlEngine();

  Executor executor() const;
  Status start(Transfer& transfer);
  void remove(Transfer& transfer);  // harmless when it is not under way
  // Every transfer ends with kCancelled and no other can be started.
  void close();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace flexlocal::kube
