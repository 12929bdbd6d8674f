// One request as libcurl knows it; only the curl_*.cc files include this.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>

#include "provisioner/kube/credentials.h"
#include "provisioner/kube/curl_engine.h"
#include "provisioner/kube/server_warnings.h"

namespace flexlocal::kube {

// What all requests of an engine have in common.
struct CurlSettings {
  ClusterConfig config;
  CurlHttpOptions options;
  Credentials credentials;
  ServerWarnings warnings;
};

struct CurlListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using CurlList = std::unique_ptr<curl_slist, CurlListFree>;

struct Transfer::Handle {
  CURL* easy = nullptr;
  CurlList headers, connect_to;
  std::shared_ptr<const CredentialSet> credentials;
  std::array<char, CURL_ERROR_SIZE> why{};
  std::size_t most = 0;
};

// Makes of the transfer's easy handle, which is new or reset, its request. The settings must
// outlive the transfer.
void configure(Transfer& transfer, CurlSettings& settings);

}  // namespace flexlocal::kube
