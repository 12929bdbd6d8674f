// Making and growing a file system, and telling whether a device carries one.
#pragma once

#include <string>

#include "flexvolume/base/program.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/device.h"
#include "flexvolume/engine/host/tools.h"

namespace flexlocal::engine {

class Filesystems {
 public:
  // `root`: see Tools; mkfs's own files are looked for below it.
  Filesystems(CommandRunner& runner, const Tools& tools, Devices& devices, std::string root)
      : runner_(runner), tools_(tools), devices_(devices), root_(std::move(root)) {}

  // `uuid`: the file system's own: unique, and known before mkfs starts, so that a half-made file
  // system of ours and another tenant's remains can be told apart. mkfs is forced: the decision
  // that nothing of worth is there has been taken. The program inherits `lock`, so that it keeps
  // others away even when this process is killed.
  Status make(const std::string& device, FsType type, const std::string& uuid, int lock);

  // Starts blkid only when the device's start does not answer the question.
  Result<Content> probe(const std::string& device, FsType type, const std::string& uuid);

  // Makes a mounted file system as large as its device; one that is already is success. kFailed
  // where the tool says that it has, and the file system is smaller.
  Status grow(const std::string& device, FsType type, const std::string& mount_point);

 private:
  Status grow_ext4(const std::string& device, const std::string& mount_point);
  Status check_grown(const std::string& device, FsType type, const std::string& mount_point);
  Status resize_ext4(const std::string& device, const std::string& mount_point);
  Status run(std::string_view tool, std::vector<std::string> arguments,
             std::chrono::milliseconds deadline, std::vector<int> keep = {});

  CommandRunner& runner_;
  const Tools& tools_;
  Devices& devices_;
  std::string root_;
};

// The file system's own mount options.
std::string mount_data(const VolumeSpec& spec);

}  // namespace flexlocal::engine
