#include "flexvolume/engine/durable_counter.h"

#include <chrono>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/lock.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr auto kDeadline = std::chrono::seconds(5);

}  // namespace

DurableCounter::DurableCounter(std::string folder, std::string lock_folder, std::string_view name)
    : folder_(std::move(folder)),
      path_(concat(folder_, '/', name)),
      lock_folder_(std::move(lock_folder)),
      lock_path_(concat(lock_folder_, "/counter-", name)) {}

Status DurableCounter::add_one() const {
  for (const std::string& folder : {folder_, lock_folder_})
    if (auto made = make_folders(folder); !made) return made;
  const auto lock = FileLock::acquire(lock_path_, kDeadline);
  if (!lock) return lock.error();
  const auto before = value();
  if (!before && before.error().code() != ErrorCode::kCorrupt) return before.error();
  return write_file_atomically(path_, concat(before ? *before + 1 : 1, '\n'), 0644);
}

Result<std::uint64_t> DurableCounter::value() const {
  const auto text = read_file(path_, kKiB);
  if (!text && text.error().code() == ErrorCode::kNotFound) return std::uint64_t(0);
  if (!text) return text.error();
  unsigned long long count = 0;
  if (!parse_number(trim(*text), UINT64_MAX - 1, count))
    return Error(ErrorCode::kCorrupt, concat(path_, " is not a number"));
  return std::uint64_t(count);
}

}  // namespace flexlocal::engine
