#include "provisioner/kube/socket_watch.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace flexlocal::kube {

namespace {

// What one claim brings, so that what waits for it does not wait for us.
constexpr int kAtOnce = 16;

}  // namespace

// Shared with the handlers that wait, which end after their owner.
struct SocketWatch::State {
  using Wait = asio::posix::descriptor_base::wait_type;

  State(asio::io_context& io, int watched, OnReady callback)
      : socket(io), fd(watched), pause(io), on_ready(std::move(callback)) {}

  struct Direction {
    Wait wait;
    bool wanted = false;
    bool waiting = false;
  };

  static void arm(const std::shared_ptr<State>& self, Direction& direction) {
    if (self->closed || !direction.wanted || direction.waiting) return;
    const auto until = self->due - (kAtOnce - 1) * self->between;
    const bool rests = &direction == &self->reading && !self->writing.waiting &&
                       until > std::chrono::steady_clock::now();
    if (rests) return self->rest_until(self, until);
    self->attach();
    direction.waiting = true;
    self->socket.async_wait(direction.wait,
                            [self, &direction](const boost::system::error_code& error) {
                              ready(self, direction, error);
                            });
  }

  // Away from epoll, which would wake us for every piece that comes meanwhile.
  void rest_until(const std::shared_ptr<State>& self, Clock::Instant until) {
    if (resting) return;
    resting = true;
    if (socket.is_open()) socket.release();
    pause.expires_at(until);
    // Cut short, it is over all the same.
    pause.async_wait([self](const boost::system::error_code& error) {
      self->resting = false;
      if (error) self->due = {};
      arm(self, self->reading);
    });
  }

  // Fails only when the kernel is out of memory or of epoll watches: then nothing is ever reported
  // and the deadline of whoever waits ends it.
  void attach() {
    if (socket.is_open()) return;
    boost::system::error_code failed;
    socket.assign(fd, failed);
    closed = static_cast<bool>(failed);
  }

  static void ready(const std::shared_ptr<State>& self, Direction& direction,
                    const boost::system::error_code& error) {
    direction.waiting = false;
    if (self->closed || (!direction.wanted && !error)) return;
    Readiness readiness;
    readiness.readable = direction.wait == Wait::wait_read;
    readiness.writable = !readiness.readable;
    readiness.failed = static_cast<bool>(error);
    if (readiness.readable)
      self->due = std::max(self->due, std::chrono::steady_clock::now()) + self->between;
    self->on_ready(readiness);
    arm(self, direction);
  }

  asio::posix::stream_descriptor socket;
  int fd;
  asio::steady_timer pause;  // of reading
  std::chrono::milliseconds between{0};
  // A token bucket: where one read each `between` would be by now.
  std::chrono::steady_clock::time_point due{};
  OnReady on_ready;
  Direction reading{.wait = Wait::wait_read};
  Direction writing{.wait = Wait::wait_write};
  bool resting = false;
  bool closed = false;
};

SocketWatch::SocketWatch(asio::io_context& io, int fd, OnReady on_ready)
    : state_(std::make_shared<State>(io, fd, std::move(on_ready))) {
  state_->attach();
}

SocketWatch::~SocketWatch() {
  state_->closed = true;
  state_->pause.cancel();
  if (state_->socket.is_open()) state_->socket.release();
}

void SocketWatch::want(bool reading, bool writing) {
  state_->reading.wanted = reading;
  state_->writing.wanted = writing;
  State::arm(state_, state_->reading);
  State::arm(state_, state_->writing);
}

void SocketWatch::rest(std::chrono::milliseconds between) {
  const bool shorter = between < state_->between;
  state_->between = between;
  if (shorter) state_->pause.cancel();  // never inside of this call
}

struct Alarm::State {
  State(asio::io_context& io, std::function<void()> callback)
      : timer(io), on_ring(std::move(callback)) {}

  asio::steady_timer timer;
  std::function<void()> on_ring;
  unsigned setting = 0;  // so that a ring which is already under way counts for nothing
};

Alarm::Alarm(asio::io_context& io, std::function<void()> on_ring)
    : state_(std::make_shared<State>(io, std::move(on_ring))) {}

Alarm::~Alarm() { clear(); }

void Alarm::set(std::chrono::milliseconds from_now) {
  const unsigned setting = ++state_->setting;
  auto ring = [state = state_, setting](const boost::system::error_code& error) {
    if (!error && state->setting == setting) state->on_ring();
  };
  state_->timer.cancel();
  // "Now", which is what libcurl says most often, costs no timer of the kernel's.
  if (from_now <= std::chrono::milliseconds(0)) {
    asio::post(state_->timer.get_executor(), [ring] { ring({}); });
    return;
  }
  state_->timer.expires_after(from_now);
  state_->timer.async_wait(ring);
}

void Alarm::clear() {
  ++state_->setting;
  state_->timer.cancel();
}

}  // namespace flexlocal::kube
