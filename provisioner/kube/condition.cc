#include "provisioner/kube/condition.h"

namespace flexlocal::kube {
namespace {

class Registration {
 public:
  Registration(std::shared_ptr<std::list<asio::steady_timer*>> waiters, asio::steady_timer& timer)
      : waiters_(std::move(waiters)), timer_(&timer) {
    waiters_->push_back(timer_);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { waiters_->remove(timer_); }

 private:
  std::shared_ptr<std::list<asio::steady_timer*>> waiters_;
  asio::steady_timer* timer_;
};

}  // namespace

Task<Status> Condition::wait(Clock::Instant until) {
  if (co_await is_cancelled()) co_return cancelled_error();
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, until);
  const Registration registration(waiters_, timer);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (co_await is_cancelled()) co_return cancelled_error();
  co_return Status();
}

void Condition::notify_one() {
  if (waiters_->empty()) return;
  asio::steady_timer* const timer = waiters_->front();
  waiters_->pop_front();  // so that the next notification goes to the next waiter
  timer->cancel();
}

void Condition::notify_all() {
  while (!waiters_->empty()) notify_one();
}

}  // namespace flexlocal::kube
