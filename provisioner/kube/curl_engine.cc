#include "provisioner/kube/curl_engine.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <map>
#include <unordered_set>
#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "provisioner/kube/socket_watch.h"

namespace flexlocal::kube {
namespace {

constexpr std::size_t kMostIdleHandles = 16;
constexpr std::size_t kLargestRefusal = 1U << 20U;  // of a stream that was answered with an error

// The one translator of curl's codes.
ErrorCode code_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return ErrorCode::kDeadline;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return ErrorCode::kDenied;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return ErrorCode::kInvalid;
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FAILED_INIT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return ErrorCode::kFailed;
    default:
      return ErrorCode::kUnavailable;
  }
}

struct ListFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListFree>;

void add(HeaderList& list, const std::string& line) {
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

// libcurl's process-wide part; it counts its users itself.
class CurlLibrary {
 public:
  CurlLibrary() {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    std::signal(SIGPIPE, SIG_IGN);
  }
  CurlLibrary(const CurlLibrary&) = delete;
  CurlLibrary& operator=(const CurlLibrary&) = delete;
  ~CurlLibrary() { curl_global_cleanup(); }
};

}  // namespace

struct Transfer::Handle {
  CURL* easy = nullptr;
  HeaderList headers, connect_to;
  std::shared_ptr<const CredentialSet> credentials;
  std::array<char, CURL_ERROR_SIZE> why{};
  std::size_t most = 0;
};

namespace {

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

}  // namespace

struct CurlEngine::Multi {
  Multi(asio::io_context& loop, ClusterConfig where, CurlHttpOptions how, Credentials who)
      : io(loop),
        config(std::move(where)),
        options(std::move(how)),
        credentials(std::move(who)),
        curl(curl_multi_init()),
        alarm(loop, [this] { act(CURL_SOCKET_TIMEOUT, 0); }) {
    if (options.user_agent.empty())
      options.user_agent = concat("flexlocal-provisioner/", version());
    curl_multi_setopt(curl, CURLMOPT_SOCKETFUNCTION, &Multi::on_socket);
    curl_multi_setopt(curl, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(curl, CURLMOPT_TIMERFUNCTION, &Multi::on_timer);
    curl_multi_setopt(curl, CURLMOPT_TIMERDATA, this);
    // One stream a connection, also of HTTP/2: with several, libcurl 7.88 now and then never ends
    // one that the server has ended, and a list takes 30 s and an error.
    curl_multi_setopt(curl, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  }
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;
  ~Multi() { close(); }

  Status start(Transfer& transfer);
  void remove(Transfer& transfer);
  void close();

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*);
  static int on_timer(CURLM*, long milliseconds, void* self);
  void act(curl_socket_t fd, int events);
  void collect_finished();
  void configure(Transfer& transfer);
  void configure_tls(Transfer& transfer);
  void configure_server(Transfer& transfer);
  void configure_body(Transfer& transfer);
  void count_awaited(const Transfer& transfer, int more);
  std::chrono::milliseconds resting_time() const {
    return awaited == 0 ? options.gather : std::chrono::milliseconds(0);
  }

  CurlLibrary library;
  asio::io_context& io;
  ClusterConfig config;
  CurlHttpOptions options;
  Credentials credentials;
  CURLM* curl;
  Alarm alarm;
  std::map<curl_socket_t, std::unique_ptr<SocketWatch>> sockets;
  std::unordered_set<Transfer*> transfers;
  int awaited = 0;  // of these, whose answer has an end that somebody waits for
  std::vector<CURL*> idle;
};

Status CurlEngine::Multi::start(Transfer& transfer) {
  if (curl == nullptr) return cancelled_error();
  if (idle.empty()) {
    transfer.handle->easy = curl_easy_init();
  } else {
    transfer.handle->easy = idle.back();
    idle.pop_back();
  }
  if (transfer.handle->easy == nullptr)
    return Error(ErrorCode::kFailed, "libcurl has no more handles");
  transfers.insert(&transfer);
  count_awaited(transfer, 1);
  configure(transfer);
  if (curl_multi_add_handle(curl, transfer.handle->easy) != CURLM_OK)
    return Error(ErrorCode::kFailed, "libcurl takes no request");
  return {};
}

void CurlEngine::Multi::remove(Transfer& transfer) {
  if (transfers.erase(&transfer) == 0) return;
  count_awaited(transfer, -1);
  curl_multi_remove_handle(curl, transfer.handle->easy);
  if (idle.size() < kMostIdleHandles) {
    curl_easy_reset(transfer.handle->easy);  // nothing of this request stays in it
    idle.push_back(transfer.handle->easy);
  } else {
    curl_easy_cleanup(transfer.handle->easy);
  }
}

// What is read belongs to any transfer of its connection: all of them rest, or none does.
void CurlEngine::Multi::count_awaited(const Transfer& transfer, int more) {
  if (transfer.request.trickles) return;
  awaited += more;
  for (const auto& [fd, watch] : sockets) watch->rest(resting_time());
}

void CurlEngine::Multi::close() {
  if (curl == nullptr) return;
  while (!transfers.empty()) {
    Transfer& transfer = **transfers.begin();
    remove(transfer);
    transfer.finish(cancelled_error());
  }
  for (CURL* const easy : idle) curl_easy_cleanup(easy);
  idle.clear();
  curl_multi_cleanup(std::exchange(curl, nullptr));
  sockets.clear();
  alarm.clear();
}

int CurlEngine::Multi::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  auto& multi = *static_cast<Multi*>(self);
  if (what == CURL_POLL_REMOVE) {
    multi.sockets.erase(fd);
    return 0;
  }
  std::unique_ptr<SocketWatch>& watch = multi.sockets[fd];
  if (!watch)
    watch =
        std::make_unique<SocketWatch>(multi.io, fd, [&multi, fd](SocketWatch::Readiness readiness) {
          multi.act(fd, (readiness.readable ? CURL_CSELECT_IN : 0) |
                            (readiness.writable ? CURL_CSELECT_OUT : 0) |
                            (readiness.failed ? CURL_CSELECT_ERR : 0));
        });
  watch->rest(multi.resting_time());
  watch->want((what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
  return 0;
}

int CurlEngine::Multi::on_timer(CURLM*, long milliseconds, void* self) {
  auto& multi = *static_cast<Multi*>(self);
  if (milliseconds < 0)
    multi.alarm.clear();
  else
    multi.alarm.set(std::chrono::milliseconds(milliseconds));
  return 0;
}

void CurlEngine::Multi::act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(curl, fd, events, &running);
  collect_finished();
}

void CurlEngine::Multi::collect_finished() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(curl, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    const CURLcode code = message->data.result;
    std::optional<Error> failure = std::move(transfer->failure);
    if (code != CURLE_OK && !failure) {
      const char* const why = transfer->handle->why[0] != '\0' ? transfer->handle->why.data()
                                                               : curl_easy_strerror(code);
      failure = Error(code_of(code), concat(config.server, ": ", why));
    }
    long status = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(transfer->handle->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->handle->easy, CURLINFO_RETRY_AFTER, &retry_after);
    transfer->response.status = static_cast<int>(status);
    if (retry_after > 0) transfer->response.retry_after = std::chrono::seconds(retry_after);
    transfer->finish(std::move(failure));
  }
}

void CurlEngine::Multi::configure(Transfer& transfer) {
  CURL* const easy = transfer.handle->easy;
  transfer.handle->credentials = credentials.current();
  transfer.handle->most = options.largest_body.count();
  set(easy, CURLOPT_PRIVATE, &transfer);
  set(easy, CURLOPT_ERRORBUFFER, transfer.handle->why.data());
  set(easy, CURLOPT_NOSIGNAL, 1L);
  set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  set(easy, CURLOPT_WRITEFUNCTION, &on_bytes);
  set(easy, CURLOPT_WRITEDATA, &transfer);
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_deadline.count()));
  if (!transfer.request.trickles) set(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
  configure_server(transfer);
  configure_tls(transfer);
  configure_body(transfer);
  set(easy, CURLOPT_HTTPHEADER, transfer.handle->headers.get());
}

void CurlEngine::Multi::configure_server(Transfer& transfer) {
  CURL* const easy = transfer.handle->easy;
  std::string server = config.server;
  if (!config.tls_server_name.empty()) {
    // The certificate is checked against the URL's host; the connection still goes to the server.
    const std::size_t host = server.find("//") + 2;
    const std::string_view address = std::string_view(server).substr(host);
    const std::size_t colon = address.rfind(':');
    const bool has_port = colon != std::string_view::npos && address.back() != ']';
    const std::string port(has_port ? address.substr(colon) : ":443");
    add(transfer.handle->connect_to,
        concat("::", address.substr(0, has_port ? colon : address.size()), port));
    server = concat("https://", config.tls_server_name, port);
    set(easy, CURLOPT_CONNECT_TO, transfer.handle->connect_to.get());
  }
  set(easy, CURLOPT_URL, concat(server, transfer.request.target).c_str());
  set(easy, CURLOPT_PATH_AS_IS, 1L);
  set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  set(easy, CURLOPT_PROXY, "");  // not even one of the environment's
  set(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_2TLS));
  set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  set(easy, CURLOPT_TCP_KEEPIDLE, std::max<long>(options.dead_peer.count() / 2, 1));
  set(easy, CURLOPT_TCP_KEEPINTVL, std::max<long>(options.dead_peer.count() / 6, 1));
  set(easy, CURLOPT_SOCKOPTFUNCTION, &tune_socket);
  set(easy, CURLOPT_SOCKOPTDATA, &options.dead_peer);
}

void CurlEngine::Multi::configure_tls(Transfer& transfer) {
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

void CurlEngine::Multi::configure_body(Transfer& transfer) {
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

Transfer::Transfer(std::shared_ptr<CurlEngine> by, const HttpRequest& asked, bool streams)
    : engine(std::move(by)),
      request(asked),
      streaming(streams),
      wake(engine->executor()),
      handle(std::make_unique<Handle>()) {}

Transfer::~Transfer() { engine->remove(*this); }

void Transfer::finish(std::optional<Error> with) {
  done = true;
  failure = std::move(with);
  wake.cancel();
}

CurlEngine::CurlEngine(asio::io_context& io, ClusterConfig config, CurlHttpOptions options,
                       Credentials credentials)
    : multi_(std::make_unique<Multi>(io, std::move(config), std::move(options),
                                     std::move(credentials))) {}
CurlEngine::~CurlEngine() = default;
Executor CurlEngine::executor() const { return multi_->io.get_executor(); }
Status CurlEngine::start(Transfer& transfer) { return multi_->start(transfer); }
void CurlEngine::remove(Transfer& transfer) { multi_->remove(transfer); }
void CurlEngine::close() { multi_->close(); }

}  // namespace flexlocal::kube
