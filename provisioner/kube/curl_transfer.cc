#include "provisioner/kube/curl_transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::size_t kLargestRefusal = 1U << 20U;  // of a stream that was answered with an error

void add(CurlList& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

// The same call for every option; a refused one is a libcurl that was built without it, which no
// Debian has, and then the request says so by failing.
template <typename Value>
void set(CURL* easy, CURLoption option, Value value) {
  curl_easy_setopt(easy, option, value);
}

void set_blob(CURL* easy, CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  // Not copied: the transfer holds the credentials until the handle is reset.
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

int tune_socket(void* dead_peer_seconds, curl_socket_t fd, curlsocktype) {
  const int seconds = static_cast<int>(*static_cast<std::chrono::seconds*>(dead_peer_seconds) /
                                       std::chrono::seconds(1));
  const unsigned milliseconds = static_cast<unsigned>(seconds) * 1000U;
  const int probes = 3;
  // Best effort: without them a dead peer is noticed later, by the deadline.
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  return CURL_SOCKOPT_OK;
}

std::size_t on_bytes(char* bytes, std::size_t, std::size_t count, void* opaque) {
  auto& transfer = *static_cast<Transfer*>(opaque);
  long status = 0;
  curl_easy_getinfo(transfer.handle->easy, CURLINFO_RESPONSE_CODE, &status);
  transfer.response.status = static_cast<int>(status);
  // Whoever takes a stream cannot do so before libcurl returns, and a small compressed piece of it
  // may be a large one: what waits has a limit, too.
  const bool streams = transfer.streaming && transfer.response.success();
  std::string& into = streams ? transfer.arrived : transfer.response.body;
  const std::size_t most = transfer.streaming && !streams ? kLargestRefusal : transfer.handle->most;
  if (count > most - into.size()) {
    transfer.failure =
        Error(ErrorCode::kNoSpace, concat("an answer of more than ", to_string(Bytes(most))));
    return 0;  // curl gives the transfer up
  }
  into.append(bytes, count);
  if (streams) transfer.wake.cancel();
  return count;
}

// One line of the answer's head; of a watch that is long before its end.
std::size_t on_header(char* bytes, std::size_t, std::size_t count, void* warnings) {
  static_cast<ServerWarnings*>(warnings)->parse_header({bytes, count});
  return count;
}

// HTTP/2 for the streams without an end, with HTTP/1.1 where the server has no other. What has an
// end has a connection of its own as long as it lasts (see CurlMulti), so that HTTP/2 would only
// cost: a quarter of the daemon's CPU for a claim (make bench, provision.cpu), and the server's
// beside.
long version_for(const HttpRequest& request) {
  return request.trickles ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
}

void configure_server(Transfer& transfer, CurlSettings& settings) {
  CURL* const easy = transfer.handle->easy;
  std::string server = settings.config.server;
  if (!settings.config.tls_server_name.empty()) {
    // The certificate is checked against the URL's host; the connection still goes to the server.
    const std::size_t host = server.find("//") + 2;
    const std::string_view address = std::string_view(server).substr(host);
    const std::size_t colon = address.rfind(':');
    const bool has_port = colon != std::string_view::npos && address.back() != ']';
    const std::string port(has_port ? address.substr(colon) : ":443");
    add(transfer.handle->connect_to,
        concat("::", address.substr(0, has_port ? colon : address.size()), port));
    server = concat("https://", settings.config.tls_server_name, port);
    set(easy, CURLOPT_CONNECT_TO, transfer.handle->connect_to.get());
  }
  set(easy, CURLOPT_URL, concat(server, transfer.request.target).c_str());
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PROXY, "");  // not even one of the environment's
  set(easy, CURLOPT_HTTP_VERSION, version_for(transfer.request));
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_TCP_KEEPIDLE, std::max<long>(settings.options.dead_peer.count() / 2, 1));
  set(easy, CURLOPT_TCP_KEEPINTVL, std::max<long>(settings.options.dead_peer.count() / 6, 1));
  set(easy, CURLOPT_SOCKOPTFUNCTION, &tune_socket);
  set(easy, CURLOPT_SOCKOPTDATA, &settings.options.dead_peer);
}

void configure_tls(Transfer& transfer) {
  CURL* const easy = transfer.handle->easy;
  const CredentialSet& shown = *transfer.handle->credentials;
  set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!shown.ca.empty()) {
    // Without these two the system's CAs would be trusted beside ours.
    set(easy, CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    set(easy, CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set_blob(easy, CURLOPT_CAINFO_BLOB, shown.ca);
  }
  set_blob(easy, CURLOPT_SSLCERT_BLOB, shown.certificate);
  set_blob(easy, CURLOPT_SSLKEY_BLOB, shown.key);
  if (!shown.token.empty())
    add(transfer.handle->headers, concat("Authorization: Bearer ", shown.token));
}

void configure_body(Transfer& transfer) {
  CURL* const easy = transfer.handle->easy;
  const HttpRequest& request = transfer.request;
  add(transfer.handle->headers, "Accept: application/json");
  set(easy, CURLOPT_CUSTOMREQUEST, to_string(request.method).data());
  if (request.body.empty()) return;
  add(transfer.handle->headers, concat("Content-Type: ", request.content_type));
  add(transfer.handle->headers, "Expect:");  // no round trip to ask whether the body is welcome
  set(easy, CURLOPT_POSTFIELDS, request.body.data());
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
}

}  // namespace

void configure(Transfer& transfer, CurlSettings& settings) {
  CURL* const easy = transfer.handle->easy;
  transfer.handle->credentials = settings.credentials.current();
  transfer.handle->most = settings.options.largest_body.count();
  set(easy, CURLOPT_PRIVATE, &transfer);
  set(easy, CURLOPT_ERRORBUFFER, transfer.handle->why.data());
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_USERAGENT, settings.options.user_agent.c_str());
  set(easy, CURLOPT_WRITEFUNCTION, &on_bytes);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  set(easy, CURLOPT_HEADERFUNCTION, &on_header);
  set(easy, CURLOPT_HEADERDATA, &settings.warnings);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS,
      static_cast<long>(settings.options.connect_deadline.count()));
  if (!transfer.request.trickles) set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  configure_server(transfer, settings);
  configure_tls(transfer);
  configure_body(transfer);
  set(easy, CURLOPT_HTTPHEADER, transfer.handle->headers.get());
}

}  // namespace flexlocal::kube
