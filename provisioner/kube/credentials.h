// What proves us to the server and the server to us, read again when its files change.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/log.h"
#include "provisioner/kube/config.h"
#include "provisioner/kube/exec_program.h"
#include "provisioner/kube/file_stamp.h"

namespace flexlocal::kube {

struct CredentialSet {
  std::string ca;           // PEM; empty: the system's
  std::string certificate;  // PEM; empty: none
  std::string key;          // PEM
  std::string token;        // without white space around it; empty: none
};

// What a credential program gave out last; nothing before its first answer.
using LatestIssue = std::function<std::shared_ptr<const IssuedCredential>()>;

class Credentials {
 public:
  // `latest` must be there when the configuration names a program, and its token, certificate and
  // key are then part of every set. At most 1 MiB a file. Fails with the first file that cannot be
  // read or is empty.
  static Result<Credentials> load(const ClusterConfig& config, const Clock& clock, Log& log,
                                  std::chrono::nanoseconds interval, LatestIssue latest = {});

  // The latest set that was whole. Files are looked at (by inode, size and time of change, links
  // followed) at most once an interval; when one cannot be read, the set stays as it was and the
  // log says so once. Whoever holds a set keeps it.
  std::shared_ptr<const CredentialSet> current();

 private:
  using Stamps = std::array<FileStamp, 4>;

  Credentials(const ClusterConfig& config, const Clock& clock, Log& log,
              std::chrono::nanoseconds interval, LatestIssue latest)
      : config_(config),
        clock_(&clock),
        log_(&log),
        interval_(interval),
        latest_(std::move(latest)) {}
  Stamps stamps() const;
  Result<CredentialSet> read() const;
  void read_changed_files();
  void take_issue();

  ClusterConfig config_;
  const Clock* clock_;
  Log* log_;
  std::chrono::nanoseconds interval_;
  LatestIssue latest_;
  std::shared_ptr<const IssuedCredential> issue_;  // that set_ has
  Clock::Instant looked_{};
  Stamps stamps_;
  std::shared_ptr<const CredentialSet> set_;
};

}  // namespace flexlocal::kube
