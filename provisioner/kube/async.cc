#include "provisioner/kube/async.h"

namespace flexlocal::kube {

Error cancelled_error() { return Error(ErrorCode::kCancelled, "stopping"); }

Task<bool> is_cancelled() {
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

Task<Status> sleep_for(std::chrono::nanoseconds time) {
  if (co_await is_cancelled()) co_return cancelled_error();
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, time);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (co_await is_cancelled()) co_return cancelled_error();
  co_return Status();
}

}  // namespace flexlocal::kube
