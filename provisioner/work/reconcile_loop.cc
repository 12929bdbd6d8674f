#include "provisioner/work/reconcile_loop.h"

namespace flexlocal::provisioner {
namespace {

// Events are a courtesy: an API server that does not answer must not hold up the end.
constexpr auto kMostEventWriting = std::chrono::seconds(5);

Task<void> cancel_after(kube::TaskGroup& group, std::chrono::seconds time) {
  const Status slept = co_await kube::sleep_for(time);
  if (slept) group.cancel();
}

// One at least, or what is not awaited was never done.
std::size_t most_others(const ReconcileOptions& options) {
  return options.workers > options.kept_for_awaited ? options.workers - options.kept_for_awaited
                                                    : 1;
}

}  // namespace

ReconcileLoop::ReconcileLoop(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock,
                             Log& log, const ReconcileOptions& options, Work work)
    : io_(io),
      log_(log),
      options_(options),
      work_(std::move(work)),
      events_(api, clock, log, options.source),
      queue_(clock, options.retry, most_others(options)),
      watchers_(io),
      workers_(io),
      writer_(io) {}

Task<void> ReconcileLoop::run() {
  writer_.spawn(events_.run());
  for (unsigned i = 0; i < options_.workers; ++i) workers_.spawn(work_loop());
  while (!stopped_) {
    const Status woken = co_await stopping_.wait();
    if (!woken) break;
  }
  const bool dropped = co_await kube::is_cancelled();
  stopped_ = true;
  // Waits of workers for complete lists end with the queue; what is being done goes on to its end.
  queue_.shut_down();
  if (dropped) {
    workers_.cancel();
    writer_.cancel();
  }
  // From here on this task cannot be told to stop again: it waits for what it has started.
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await finish();
}

Task<void> ReconcileLoop::finish() {
  watchers_.cancel();
  kube::TaskGroup patience(io_);
  if (options_.most_finishing) patience.spawn(cancel_after(workers_, *options_.most_finishing));
  const Status watchers_ended = co_await watchers_.join();
  const Status workers_ended = co_await workers_.join();
  events_.shut_down();
  patience.spawn(cancel_after(writer_, kMostEventWriting));
  const Status writer_ended = co_await writer_.join();
  patience.cancel();
  const Status patience_ended = co_await patience.join();
  if (!watchers_ended || !workers_ended || !writer_ended || !patience_ended)
    log_.warning("stopped before everything had ended");
}

Task<void> ReconcileLoop::work_loop() {
  for (;;) {
    const auto key = co_await queue_.get();
    if (!key) co_return;
    if (stopped_) {  // what still waits is the next daemon's, whose lists are fresh
      queue_.done(*key);
      co_return;
    }
    co_await work_(*key);
    queue_.done(*key);
  }
}

}  // namespace flexlocal::provisioner
