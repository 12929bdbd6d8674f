// One request as libcurl knows it; only the curl_*.cc files include this.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "provisioner/kube/credentials.h"
#include "provisioner/kube/curl_options.h"
#include "provisioner/kube/http.h"
#include "provisioner/kube/server_warnings.h"

namespace flexlocal::kube {

class CurlEngine;

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
