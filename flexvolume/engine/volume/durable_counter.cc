#include "flexvolume/engine/volume/durable_counter.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "flexvolume/base/fd.h"
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

Result<FileLock> DurableCounter::lock() const {
  for (const std::string& folder : {folder_, lock_folder_})
    if (auto made = make_folders(folder); !made) return made.error();
  return FileLock::acquire(lock_path_, kDeadline);
}

Result<std::uint64_t> DurableCounter::next() const {
  const auto before = value();
  if (!before && before.error().code() != ErrorCode::kCorrupt) return before.error();
  return before ? *before + 1 : std::uint64_t(1);
}

Status DurableCounter::add_one() const {
  const auto locked = lock();
  if (!locked) return locked.error();
  const auto count = next();
  if (!count) return count.error();
  return write_file_atomically(path_, concat(*count, '\n'), 0644);
}

Status DurableCounter::note_one() const {
  const auto locked = lock();
  if (!locked) return locked.error();
  const auto count = next();
  if (!count) return count.error();
  const auto file = open_file(path_, O_WRONLY | O_CREAT | O_NOFOLLOW, 0644);
  if (!file) return file.error();
  // A number only grows longer, so that no digit of an older one stays; a damaged file is emptied.
  const std::string text = concat(*count, '\n');
  if (*count == 1 && ::ftruncate(file->get(), 0) != 0)
    return Error::from_errno(errno, concat("emptying ", path_));
  if (::pwrite(file->get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return Error::from_errno(errno, concat("writing ", path_));
  return {};
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
