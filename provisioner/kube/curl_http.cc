#include "provisioner/kube/curl_http.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_engine.h"

namespace flexlocal::kube {
namespace {

using Instant = Clock::Instant;

// Outside of curl's call-backs: a sink may do as it likes.
Status hand_over(Transfer& transfer, ByteSink* sink) {
  if (sink == nullptr || transfer.arrived.empty()) return {};
  std::string bytes;
  bytes.swap(transfer.arrived);
  return sink->take(bytes);
}

struct Deadlines {
  Instant whole;
  std::chrono::milliseconds stall;  // zero: none
  Instant silent_since;

  Instant next() const { return stall.count() > 0 ? std::min(whole, silent_since + stall) : whole; }
};

Error overdue(const HttpRequest& request, const Deadlines& deadlines, Instant now) {
  const bool whole = now >= deadlines.whole;
  const auto limit = whole ? request.deadline : request.stall;
  return Error(ErrorCode::kDeadline,
               concat(whole ? "no complete answer within " : "no sign of the server for ",
                      limit.count(), " ms"));
}

// Until the transfer is done, or there is a reason not to wait for it any longer.
Task<Status> carry(Transfer& transfer, ByteSink* sink, Instant began) {
  Deadlines deadlines{began + transfer.request.deadline, transfer.request.stall, began};
  for (;;) {
    const bool has_news = !transfer.arrived.empty();
    if (auto taken = hand_over(transfer, sink); !taken) co_return taken;
    if (transfer.done) co_return transfer.failure ? Status(*transfer.failure) : Status();
    const auto now = std::chrono::steady_clock::now();
    if (has_news) deadlines.silent_since = now;
    if (now >= deadlines.next()) co_return overdue(transfer.request, deadlines, now);
    transfer.wake.expires_at(deadlines.next());
    boost::system::error_code ignored;
    co_await transfer.wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (co_await is_cancelled()) co_return cancelled_error();
  }
}

Task<Result<HttpResponse>> perform(std::shared_ptr<CurlEngine> engine,
                                   std::shared_ptr<ExecCredentials> exec,
                                   const HttpRequest& request, ByteSink* sink) {
  if (co_await is_cancelled()) co_return cancelled_error();
  const auto began = std::chrono::steady_clock::now();
  std::shared_ptr<const IssuedCredential> shown;
  if (exec) {
    auto ready = co_await exec->ready(began + request.deadline);
    if (!ready) co_return ready.error();
    shown = exec->latest();
  }
  Transfer transfer(engine, request, sink != nullptr);
  if (auto started = engine->start(transfer); !started) co_return started.error();
  auto carried = co_await carry(transfer, sink, began);
  if (exec) exec->answered(shown, transfer.response.status);
  if (!carried) co_return carried.error();
  co_return std::move(transfer.response);
}

}  // namespace

Result<std::unique_ptr<CurlHttp>> CurlHttp::make(asio::io_context& io, const Clock& clock, Log& log,
                                                 const ClusterConfig& config,
                                                 const CurlHttpOptions& options) {
  if (auto valid = validate(config); !valid) return valid.error();
  std::shared_ptr<ExecCredentials> exec;
  LatestIssue latest;
  if (config.exec) {
    exec = std::make_shared<ExecCredentials>(io, config, clock, log, options.exec);
    latest = [exec] { return exec->latest(); };
  }
  auto credentials =
      Credentials::load(config, clock, log, options.reload_interval, std::move(latest));
  if (!credentials) return credentials.error();
  auto engine = std::make_shared<CurlEngine>(io, config, options, std::move(*credentials), log);
  return std::unique_ptr<CurlHttp>(new CurlHttp(std::move(engine), std::move(exec)));
}

CurlHttp::CurlHttp(std::shared_ptr<CurlEngine> engine, std::shared_ptr<ExecCredentials> exec)
    : engine_(std::move(engine)), exec_(std::move(exec)) {}

CurlHttp::~CurlHttp() {
  if (exec_) exec_->close();
  engine_->close();
}

Task<Result<HttpResponse>> CurlHttp::send(const HttpRequest& request) {
  return perform(engine_, exec_, request, nullptr);
}

Task<Result<HttpResponse>> CurlHttp::stream(const HttpRequest& request, ByteSink& sink) {
  return perform(engine_, exec_, request, &sink);
}

}  // namespace flexlocal::kube
