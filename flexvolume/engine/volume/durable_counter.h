// A number on disk that only grows: what the plugin counts, call by call, for the daemon to export.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flexvolume/base/lock.h"
#include "flexvolume/base/result.h"

namespace flexlocal::engine {

inline constexpr std::string_view kCounterFolder = "/var/lib/flexlocal/counters";
// Mounts that succeeded although the limits of their class could not be set.
inline constexpr std::string_view kIoLimitsNotApplied = "io-limits-not-applied";
// Calls that the record of the volume does not allow.
inline constexpr std::string_view kMountsRefused = "mounts-refused";

class DurableCounter {
 public:
  // "<folder>/<name>", and while it is written a lock "<lock folder>/counter-<name>".
  DurableCounter(std::string folder, std::string lock_folder, std::string_view name);

  // Synced before it returns. A file that is damaged begins at zero again, as a reader of counters
  // expects of one that was reset.
  Status add_one() const;

  // The same without waiting for the disk: what was counted last may be lost when the power fails.
  // For what a stranger can bring about as often as they like.
  Status note_one() const;

  // Zero when nothing has been counted yet; kCorrupt when the file is not a number.
  Result<std::uint64_t> value() const;

 private:
  Result<FileLock> lock() const;
  // The value with one more; a damaged file counts for nothing.
  Result<std::uint64_t> next() const;

  std::string folder_;
  std::string path_;
  std::string lock_folder_;
  std::string lock_path_;
};

}  // namespace flexlocal::engine
