// The tasks a part of the daemon has started: none is forgotten, none hides an exception.
#pragma once

#include <list>
#include <memory>

#include "provisioner/kube/async.h"
#include "provisioner/kube/condition.h"

namespace flexlocal::kube {

class TaskGroup {
 public:
  explicit TaskGroup(asio::io_context& io);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  // Tasks that still run are told to stop; whoever needs them ended calls join() first.
  ~TaskGroup();

  // Starts `task`, at once or from the event loop. What the task refers to must outlive it. An
  // exception that leaves it is a broken invariant: it leaves io_context::run() unchanged.
  // After cancel() a new task finds itself cancelled at its first wait.
  void spawn(Task<void> task);

  // Tells every task to stop; harmless when repeated.
  void cancel();

  // Ends when no task is left, or with kCancelled if the waiting task itself is told to stop.
  Task<Status> join();
  // cancel() and join(), to the end in either case. False: the waiting task was told to stop; it
  // cannot be told so again.
  Task<bool> end();

  std::size_t running() const;

 private:
  struct State;
  asio::io_context& io_;
  std::shared_ptr<State> state_;
};

}  // namespace flexlocal::kube
