#include "provisioner/kube/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <exception>

namespace flexlocal::kube {

struct TaskGroup::State {
  std::list<asio::cancellation_signal> running;
  Condition ended;
  bool cancelled = false;
};

namespace {

// From here on cancellation is a value (see async.h).
Task<void> without_throwing(Task<void> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
}

}  // namespace

TaskGroup::TaskGroup(asio::io_context& io) : io_(io), state_(std::make_shared<State>()) {}

TaskGroup::~TaskGroup() { cancel(); }

void TaskGroup::spawn(Task<void> task) {
  const auto place = state_->running.emplace(state_->running.end());
  auto ended = [state = state_, place](const std::exception_ptr& failure) {
    state->running.erase(place);
    state->ended.notify_all();
    if (failure) std::rethrow_exception(failure);
  };
  asio::co_spawn(io_, without_throwing(std::move(task)),
                 asio::bind_cancellation_slot(place->slot(), std::move(ended)));
  if (state_->cancelled) cancel();
}

void TaskGroup::cancel() {
  state_->cancelled = true;
  // Posted: a task that cancels its own group must not be resumed inside its own call.
  asio::post(io_, [state = state_] {
    for (auto at = state->running.begin(); at != state->running.end();)
      (at++)->emit(asio::cancellation_type::terminal);
  });
}

Task<Status> TaskGroup::join() {
  const auto state = state_;
  while (!state->running.empty())
    if (auto waited = co_await state->ended.wait(); !waited) co_return waited;
  co_return Status();
}

Task<bool> TaskGroup::end() {
  cancel();
  const auto joined = co_await join();
  if (joined) co_return true;
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  co_await join();
  co_return false;
}

std::size_t TaskGroup::running() const { return state_->running.size(); }

}  // namespace flexlocal::kube
