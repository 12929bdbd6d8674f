// Making a file system, and telling whether a device carries one.
#pragma once

#include <string>

#include "flexvolume/base/program.h"
#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract.h"
#include "flexvolume/engine/device.h"
#include "flexvolume/engine/tools.h"

namespace flexlocal::engine {

class Filesystems {
 public:
  Filesystems(CommandRunner& runner, const Tools& tools, Devices& devices)
      : runner_(runner), tools_(tools), devices_(devices) {}

  // The file system's own uuid is the claim's: unique, and known before mkfs starts, so that a
  // half-made file system of ours and another tenant's remains can be told apart.
  // mkfs runs with --force: the decision that nothing of worth is there has been taken. The
  // program inherits `lock`, so that it keeps others away even when this process is killed.
  Status make(const std::string& device, FsType type, const VolumeName& name, int lock);

  // Starts blkid only when the device's start does not answer the question.
  Result<Content> probe(const std::string& device, const VolumeName& name);

 private:
  CommandRunner& runner_;
  const Tools& tools_;
  Devices& devices_;
};

// The file system's own mount options.
std::string mount_data(const VolumeSpec& spec);

}  // namespace flexlocal::engine
