// What proves us to the server and the server to us, read again when its files change.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/log.h"
#include "provisioner/kube/config.h"

namespace flexlocal::kube {

struct CredentialSet {
  std::string ca;           // PEM; empty: the system's
  std::string certificate;  // PEM; empty: none
  std::string key;          // PEM
  std::string token;        // without white space around it; empty: none
};

class Credentials {
 public:
  // At most 1 MiB a file. Fails with the first file that cannot be read or is empty.
  static Result<Credentials> load(const ClusterConfig& config, const Clock& clock, Log& log,
                                  std::chrono::nanoseconds interval);

  // The latest set that was whole. Files are looked at (by inode, size and time of change, links
  // followed) at most once an interval; when one cannot be read, the set stays as it was and the
  // log says so once. Whoever holds a set keeps it.
  std::shared_ptr<const CredentialSet> current();

 private:
  // What tells that a file is another one, or has another content.
  struct Stamp {
    unsigned long long device = 0, inode = 0;
    long long size = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 4>;

  Credentials(const ClusterConfig& config, const Clock& clock, Log& log,
              std::chrono::nanoseconds interval)
      : config_(config), clock_(&clock), log_(&log), interval_(interval) {}
  static Stamp stamp_of(const FileOrData& source);
  Stamps stamps() const;
  Result<CredentialSet> read() const;

  ClusterConfig config_;
  const Clock* clock_;
  Log* log_;
  std::chrono::nanoseconds interval_;
  Clock::Instant looked_{};
  Stamps stamps_;
  std::shared_ptr<const CredentialSet> set_;
};

}  // namespace flexlocal::kube
