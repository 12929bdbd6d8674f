#include "provisioner/kube/socket_watch.h"

namespace flexlocal::kube {

// Shared with the handlers that wait, which end after their owner.
struct SocketWatch::State {
  using Wait = asio::posix::descriptor_base::wait_type;

  State(asio::io_context& io, OnReady callback) : socket(io), on_ready(std::move(callback)) {}

  struct Direction {
    Wait wait;
    bool wanted = false;
    bool waiting = false;
  };

  static void arm(const std::shared_ptr<State>& self, Direction& direction) {
    if (self->closed || !direction.wanted || direction.waiting) return;
    direction.waiting = true;
    self->socket.async_wait(direction.wait,
                            [self, &direction](const boost::system::error_code& error) {
                              ready(self, direction, error);
                            });
  }

  static void ready(const std::shared_ptr<State>& self, Direction& direction,
                    const boost::system::error_code& error) {
    direction.waiting = false;
    if (self->closed || (!direction.wanted && !error)) return;
    Readiness readiness;
    readiness.readable = direction.wait == Wait::wait_read;
    readiness.writable = !readiness.readable;
    readiness.failed = static_cast<bool>(error);
    self->on_ready(readiness);
    arm(self, direction);
  }

  asio::posix::stream_descriptor socket;
  OnReady on_ready;
  Direction reading{.wait = Wait::wait_read};
  Direction writing{.wait = Wait::wait_write};
  bool closed = false;
};

SocketWatch::SocketWatch(asio::io_context& io, int fd, OnReady on_ready)
    : state_(std::make_shared<State>(io, std::move(on_ready))) {
  // Fails only when the kernel is out of memory or of epoll watches: then nothing is ever
  // reported and the deadline of whoever waits ends it.
  boost::system::error_code ignored;
  state_->socket.assign(fd, ignored);
  state_->closed = static_cast<bool>(ignored);
}

SocketWatch::~SocketWatch() {
  state_->closed = true;
  if (state_->socket.is_open()) state_->socket.release();
}

void SocketWatch::want(bool reading, bool writing) {
  state_->reading.wanted = reading;
  state_->writing.wanted = writing;
  State::arm(state_, state_->reading);
  State::arm(state_, state_->writing);
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
  state_->timer.expires_after(from_now);
  state_->timer.async_wait([state = state_, setting](const boost::system::error_code& error) {
    if (!error && state->setting == setting) state->on_ring();
  });
}

void Alarm::clear() {
  ++state_->setting;
  state_->timer.cancel();
}

}  // namespace flexlocal::kube
