// Tells when volumes of the host have changed, by whomever, without starting a program.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "provisioner/kube/async.h"

namespace flexlocal::provisioner {

using kube::Task;

class DeviceEvents {
 public:
  virtual ~DeviceEvents() = default;
  // From now on changes are noticed, and those so far are forgotten: to be called ahead of each
  // look, so that what changes during it counts. An Error where the kernel tells of none.
  virtual Status arm() = 0;
  // Ends as soon as something has changed since arm(), with true; with false after `most`. An Error
  // only where the task is told to stop. One task waits at a time.
  virtual Task<Result<bool>> wait(std::chrono::nanoseconds most) = 0;
};

// By the number of device-mapper's events, which grows with each device that is made, renamed or
// removed or gets another table, and with a thin pool that runs full (Linux 4.14,
// drivers/md/dm-ioctl.c, dm_poll). What LVM alone notes, as a tag or another disk of a group, shows
// after `most`: it keeps a copy of its metadata in a folder (man lvm.conf, backup_dir).
class KernelDeviceEvents final : public DeviceEvents {
 public:
  // `root`: the folder under which the host's files are seen.
  KernelDeviceEvents(boost::asio::io_context& io, std::string root)
      : root_(std::move(root)), control_(io) {}

  Status arm() override;
  Task<Result<bool>> wait(std::chrono::nanoseconds most) override;

 private:
  Status open();
  void watch(const std::shared_ptr<boost::asio::steady_timer>& timer);
  bool has_changed();
  std::int64_t last_metadata() const;

  std::string root_;
  boost::asio::posix::stream_descriptor control_;
  std::int64_t metadata_ = 0;  // last_metadata() when it was armed
};

}  // namespace flexlocal::provisioner
