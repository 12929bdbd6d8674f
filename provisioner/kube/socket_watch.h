// Asio's event loop for a library that owns its sockets and its clock itself.
#pragma once

#include <functional>
#include <memory>

#include "provisioner/kube/async.h"

namespace flexlocal::kube {

// Tells when a socket of somebody else's can be read or written. Once destroyed it never calls
// back; the descriptor is left open, for it is not ours. It may be destroyed from its call-back.
class SocketWatch {
 public:
  struct Readiness {
    bool readable = false;
    bool writable = false;
    bool failed = false;
  };
  using OnReady = std::function<void(Readiness)>;

  SocketWatch(asio::io_context& io, int fd, OnReady on_ready);
  SocketWatch(const SocketWatch&) = delete;
  SocketWatch& operator=(const SocketWatch&) = delete;
  ~SocketWatch();

  // What to wait for from now on, again and again.
  void want(bool reading, bool writing);

  // So long between two reports of something to read, on the average: after a pause eight may come
  // at once. Zero, as at first: no rest. A shorter time holds at once.
  void rest(std::chrono::milliseconds between);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Rings once, when last set; never after it was destroyed, nor inside set().
class Alarm {
 public:
  Alarm(asio::io_context& io, std::function<void()> on_ring);
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm();

  void set(std::chrono::milliseconds from_now);
  void clear();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flexlocal::kube
