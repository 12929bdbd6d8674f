// Requests under way; libcurl itself stays in the curl_*.cc files.
#pragma once

#include <memory>

#include "provisioner/kube/credentials.h"
#include "provisioner/kube/curl_options.h"
#include "provisioner/kube/curl_transfer.h"

namespace flexlocal::kube {

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
