#include "provisioner/kube/exec_credentials.h"

#include <sys/eventfd.h>

#include <boost/asio/post.hpp>
#include <random>
#include <system_error>

#include "flexvolume/base/text.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::kube {
namespace {

constexpr int kUnauthorized = 401;

}  // namespace

struct ExecCredentials::State {
  State(const Clock& time, Log& lines, const ExecScheduleOptions& options)
      : clock(time), log(lines), schedule(options, std::random_device()()) {}

  const Clock& clock;
  Log& log;
  ExecSchedule schedule;
  std::shared_ptr<const IssuedCredential> latest;
  std::string failure;
  Condition ended;
  bool closed = false;

  void take(Result<IssuedCredential> result) {
    auto issued = check_expiry(std::move(result));
    if (issued) {
      schedule.succeeded(clock.now(), lifetime(*issued));
      latest = std::make_shared<const IssuedCredential>(std::move(*issued));
      failure = "the credential has expired, and its program was run a moment ago";
    } else {
      schedule.failed(clock.now());
      failure = issued.error().message();
      // Else the requests that fail for want of one say it.
      if (schedule.is_usable(clock.now()) && !closed)
        log.warning("credentials cannot be renewed; the old ones stay", {{"error", failure}});
    }
    ended.notify_all();
  }

 private:
  std::optional<std::chrono::nanoseconds> lifetime(const IssuedCredential& issued) const {
    if (!issued.expires) return std::nullopt;
    return *issued.expires - clock.wall();
  }
  Result<IssuedCredential> check_expiry(Result<IssuedCredential> result) const {
    if (!result || !result->expires || *result->expires > clock.wall()) return result;
    return Error(ErrorCode::kUnavailable,
                 concat("the credential program gave out what expired at ",
                        format_time(*result->expires), ", if this machine's clock is right"));
  }
};

ExecCredentials::ExecCredentials(asio::io_context& io, const ClusterConfig& config,
                                 const Clock& clock, Log& log, ExecOptions options)
    : io_(io),
      config_(config),
      options_(options),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      state_(std::make_shared<State>(clock, log, options.schedule)) {
  if (!stop_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
}

ExecCredentials::~ExecCredentials() {
  close();
  thread_.join();
}

void ExecCredentials::close() {
  state_->closed = true;
  ::eventfd_write(stop_.get(), 1);
  state_->ended.notify_all();
}

Task<Status> ExecCredentials::ready(Clock::Instant until) {
  const auto state = state_;
  run_if_due();
  while (!state->closed && state->schedule.is_worth_waiting(state->clock.now())) {
    if (std::chrono::steady_clock::now() >= until)
      co_return Error(ErrorCode::kDeadline, "the credential program has not ended yet");
    auto waited = co_await state->ended.wait(until);
    if (!waited) co_return waited;
  }
  if (state->closed) co_return cancelled_error();
  if (state->schedule.is_usable(state->clock.now())) co_return Status();
  co_return Error(ErrorCode::kUnavailable, state->failure);
}

std::shared_ptr<const IssuedCredential> ExecCredentials::latest() const { return state_->latest; }

void ExecCredentials::answered(const std::shared_ptr<const IssuedCredential>& shown,
                               int http_status) {
  if (shown != state_->latest) return;
  if (http_status == kUnauthorized)
    state_->schedule.refused();
  else if (http_status >= 200 && http_status < 500)
    state_->schedule.accepted();
}

void ExecCredentials::run_if_due() {
  if (state_->closed || !state_->schedule.is_due(state_->clock.now())) return;
  state_->schedule.began();
  asio::post(thread_, [this, state = state_] {
    auto result = run_exec_program(runner_, config_, options_.deadline, stop_.get());
    asio::post(io_,
               [state, result = std::move(result)]() mutable { state->take(std::move(result)); });
  });
}

}  // namespace flexlocal::kube
