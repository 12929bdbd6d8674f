// libcurl's multi interface on Asio's event loop; only the curl_*.cc files include this.
#pragma once

#include <curl/curl.h>

#include <map>
#include <unordered_set>
#include <vector>

#include "provisioner/kube/curl_transfer.h"
#include "provisioner/kube/socket_watch.h"

namespace flexlocal::kube {

// Transfers that share connections, one after the other. With several at once, which HTTP/2 would
// allow, libcurl 7.88 now and then leaves what it has read lying until the socket speaks again: a
// list takes 30 s and an error. While one transfer reads, another's frames fill its buffer of 16
// KiB; it is handed what is left over when it is run next, but nobody runs it for the frames behind
// that, its end among them. Source: lib/http2.c (cf_h2_recv, "Unpaused") and cf_h2_data_pending,
// which compares the wrong way round. One transfer alone never has more than a TLS record waiting.
class CurlMulti {
 public:
  // `rest`: as SocketWatch::rest(), for every connection.
  CurlMulti(asio::io_context& io, CurlSettings& settings, std::chrono::milliseconds rest);
  CurlMulti(const CurlMulti&) = delete;
  CurlMulti& operator=(const CurlMulti&) = delete;
  ~CurlMulti() { close(); }

  Status start(Transfer& transfer);
  void remove(Transfer& transfer);  // harmless when it is not under way here
  void close();                     // as CurlEngine::close()

 private:
  // libcurl's process-wide part; it counts its users itself.
  struct Library {
    Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() { curl_global_cleanup(); }
  };

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*);
  static int on_timer(CURLM*, long milliseconds, void* self);
  void act(curl_socket_t fd, int events);
  void collect_finished();

  Library library_;
  asio::io_context& io_;
  CurlSettings& settings_;
  std::chrono::milliseconds rest_;
  CURLM* curl_;
  Alarm alarm_;
  std::map<curl_socket_t, std::unique_ptr<SocketWatch>> sockets_;
  std::unordered_set<Transfer*> transfers_;
  std::vector<CURL*> idle_;
};

}  // namespace flexlocal::kube
