// The one door to Asio. It is the exception to "third-party headers stay in .cc files": a
// coroutine's return type is part of every asynchronous signature, so Asio cannot be hidden.
// Everything else of the daemon includes this header, never Asio's own.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/result.h"

// g++ 12 takes Asio's recycling of coroutine frames, once inlined, for a mismatched new and delete.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace flexlocal::kube {

namespace asio = boost::asio;

// What every coroutine of the daemon returns. One io_context and one thread run them all, so
// nothing needs a mutex: between two co_awaits a coroutine is alone.
//
// Rules (g++ 12 miscompiles the rest):
// - A coroutine is a function or a member function, never a lambda with captures.
// - Nothing with a destructor is created inside a co_await expression: name it first. That is
//   why arguments are taken by const reference; they must live until the task has ended.
// - No co_await behind && or || in a condition, `while (a && !co_await b)`: await it into a named
//   variable first.
// - Cancellation is a value, not an exception: a cancelled wait returns kCancelled, and so does
//   every wait begun afterwards. Tasks started by TaskGroup have it so.
template <typename T>
using Task = asio::awaitable<T>;

using Executor = asio::io_context::executor_type;

// Whether the calling task has been told to stop. Asio delivers a cancellation once, to the wait
// of that moment; a wait begun later must ask, or it would never end.
Task<bool> is_cancelled();

// Ends after `time`, or at once with kCancelled.
Task<Status> sleep_for(std::chrono::nanoseconds time);

// The error of every wait that ends because its task is told to stop.
Error cancelled_error();

}  // namespace flexlocal::kube
