// What both roles stand on: tasks that watch and fill a work queue, workers that empty it, the
// writer of events, and an orderly end of all of them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/kube/events.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/kube/work_queue.h"

namespace flexlocal::provisioner {

using kube::Task;

struct ReconcileOptions {
  kube::EventSource source;
  unsigned workers = 4;
  // How many of them are for awaited keys alone.
  unsigned kept_for_awaited = 0;
  // First and longest pause before what failed is tried again.
  kube::BackoffOptions retry{};
  // How long what is begun may take after stop(); nothing: as long as it takes.
  std::optional<std::chrono::seconds> most_finishing{};
};

class ReconcileLoop {
 public:
  // One pass over what the key names, its failure handled; it may add the key to the queue again.
  using Work = std::function<Task<void>(const std::string& key)>;

  ReconcileLoop(boost::asio::io_context& io, kube::ApiClient& api, const Clock& clock, Log& log,
                const ReconcileOptions& options, Work work);

  boost::asio::io_context& io() { return io_; }
  kube::EventRecorder& events() { return events_; }
  kube::WorkQueue& queue() { return queue_; }
  const kube::WorkQueue& queue() const { return queue_; }

  // Starts a task that goes on until the end, and is told to stop before anything else is.
  void watch(Task<void> task) { watchers_.spawn(std::move(task)); }

  // Works until stop(), then finishes what is begun, writes what events wait, and ends. Told to
  // stop by its task, it drops everything and ends as well.
  Task<void> run();
  void stop() {
    stopped_ = true;
    stopping_.notify_all();
  }

 private:
  Task<void> work_loop();
  Task<void> finish();

  boost::asio::io_context& io_;
  Log& log_;
  ReconcileOptions options_;
  Work work_;
  kube::EventRecorder events_;
  kube::WorkQueue queue_;
  kube::TaskGroup watchers_;
  kube::TaskGroup workers_;
  kube::TaskGroup writer_;
  kube::Condition stopping_;
  bool stopped_ = false;
};

}  // namespace flexlocal::provisioner
