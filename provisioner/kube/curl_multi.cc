#include "provisioner/kube/curl_multi.h"

#include <csignal>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::size_t kMostIdleHandles = 16;
// Source: k8s.io/api/flowcontrol/v1/types.go (ResponseHeaderMatchedFlowSchemaUID)
constexpr const char* kFlowHeader = "X-Kubernetes-PF-FlowSchema-UID";

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

bool has_header(CURL* easy, const char* name) {
  curl_header* found = nullptr;
  return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK;
}

}  // namespace

CurlMulti::Library::Library() {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::signal(SIGPIPE, SIG_IGN);
}

CurlMulti::CurlMulti(asio::io_context& io, CurlSettings& settings, std::chrono::milliseconds rest)
    : io_(io), settings_(settings), rest_(rest), curl_(curl_multi_init()), alarm_(io, [this] {
        act(CURL_SOCKET_TIMEOUT, 0);
      }) {
  curl_multi_setopt(curl_, CURLMOPT_SOCKETFUNCTION, &CurlMulti::on_socket);
  curl_multi_setopt(curl_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(curl_, CURLMOPT_TIMERFUNCTION, &CurlMulti::on_timer);
  curl_multi_setopt(curl_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(curl_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
}

Status CurlMulti::start(Transfer& transfer) {
  if (curl_ == nullptr) return cancelled_error();
  if (idle_.empty()) {
    transfer.handle->easy = curl_easy_init();
  } else {
    transfer.handle->easy = idle_.back();
    idle_.pop_back();
  }
  if (transfer.handle->easy == nullptr)
    return Error(ErrorCode::kFailed, "libcurl has no more handles");
  transfers_.insert(&transfer);
  configure(transfer, settings_);
  if (curl_multi_add_handle(curl_, transfer.handle->easy) != CURLM_OK)
    return Error(ErrorCode::kFailed, "libcurl takes no request");
  return {};
}

void CurlMulti::remove(Transfer& transfer) {
  if (transfers_.erase(&transfer) == 0) return;
  curl_multi_remove_handle(curl_, transfer.handle->easy);
  if (idle_.size() < kMostIdleHandles) {
    curl_easy_reset(transfer.handle->easy);  // nothing of this request stays in it
    idle_.push_back(transfer.handle->easy);
  } else {
    curl_easy_cleanup(transfer.handle->easy);
  }
}

void CurlMulti::close() {
  if (curl_ == nullptr) return;
  while (!transfers_.empty()) {
    Transfer& transfer = **transfers_.begin();
    remove(transfer);
    transfer.finish(cancelled_error());
  }
  for (CURL* const easy : idle_) curl_easy_cleanup(easy);
  idle_.clear();
  curl_multi_cleanup(std::exchange(curl_, nullptr));
  sockets_.clear();
  alarm_.clear();
}

int CurlMulti::on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (what == CURL_POLL_REMOVE) {
    multi.sockets_.erase(fd);
    return 0;
  }
  std::unique_ptr<SocketWatch>& watch = multi.sockets_[fd];
  if (!watch) {
    watch = std::make_unique<SocketWatch>(
        multi.io_, fd, [&multi, fd](SocketWatch::Readiness readiness) {
          multi.act(fd, (readiness.readable ? CURL_CSELECT_IN : 0) |
                            (readiness.writable ? CURL_CSELECT_OUT : 0) |
                            (readiness.failed ? CURL_CSELECT_ERR : 0));
        });
    watch->rest(multi.rest_);
  }
  watch->want((what & CURL_POLL_IN) != 0, (what & CURL_POLL_OUT) != 0);
  return 0;
}

int CurlMulti::on_timer(CURLM*, long milliseconds, void* self) {
  auto& multi = *static_cast<CurlMulti*>(self);
  if (milliseconds < 0)
    multi.alarm_.clear();
  else
    multi.alarm_.set(std::chrono::milliseconds(milliseconds));
  return 0;
}

void CurlMulti::act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(curl_, fd, events, &running);
  collect_finished();
}

void CurlMulti::collect_finished() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(curl_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    Transfer* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    const CURLcode code = message->data.result;
    std::optional<Error> failure = std::move(transfer->failure);
    if (code != CURLE_OK && !failure) {
      const char* const why = transfer->handle->why[0] != '\0' ? transfer->handle->why.data()
                                                               : curl_easy_strerror(code);
      failure = Error(code_of(code), concat(settings_.config.server, ": ", why));
    }
    long status = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(transfer->handle->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(transfer->handle->easy, CURLINFO_RETRY_AFTER, &retry_after);
    transfer->response.status = static_cast<int>(status);
    transfer->response.has_flow = has_header(transfer->handle->easy, kFlowHeader);
    if (retry_after > 0) transfer->response.retry_after = std::chrono::seconds(retry_after);
    transfer->finish(std::move(failure));
  }
}

}  // namespace flexlocal::kube
