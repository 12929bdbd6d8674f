// What a kubeconfig's credential program gives out, kept in memory and renewed in time.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/log.h"
#include "provisioner/kube/async.h"
#include "provisioner/kube/exec_program.h"
#include "provisioner/kube/exec_schedule.h"

namespace flexlocal::kube {

struct ExecOptions {
  // A program that has not ended by then is killed: plugins that ask a cloud need a second or two.
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  ExecScheduleOptions schedule;
};

// The program runs on a thread of its own: the event loop goes on. It is first run by the first
// request; while a credential that still works is renewed, nobody waits.
class ExecCredentials {
 public:
  ExecCredentials(asio::io_context& io, const ClusterConfig& config, const Clock& clock, Log& log,
                  ExecOptions options);
  ExecCredentials(const ExecCredentials&) = delete;
  ExecCredentials& operator=(const ExecCredentials&) = delete;
  ~ExecCredentials();  // a program that runs is killed

  // Runs the program if it is time to, and ends when there is a credential to send with. Else the
  // error says why, always as kUnavailable (to a caller, kNotFound is an answer about an object);
  // kDeadline when `until` comes first.
  Task<Status> ready(Clock::Instant until);

  // Null before the first. Whoever holds one keeps it.
  std::shared_ptr<const IssuedCredential> latest() const;

  // What the server said to a request that was sent with `shown`: after a 401 the next request has
  // the program run again. Zero: there was no answer.
  void answered(const std::shared_ptr<const IssuedCredential>& shown, int http_status);

  // Whoever waits gets kCancelled, and so does whoever comes later.
  void close();

 private:
  struct State;
  void run_if_due();

  asio::io_context& io_;
  const ClusterConfig config_;
  const ExecOptions options_;
  ProcessRunner runner_{{}, kExecLimits};
  UniqueFd stop_;
  std::shared_ptr<State> state_;  // also of what the thread hands back to the event loop
  asio::thread_pool thread_{1};
};

}  // namespace flexlocal::kube
