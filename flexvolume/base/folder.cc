#include "flexvolume/base/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/text.h"

namespace flexlocal {

Result<UniqueFd> open_folder_in(const UniqueFd& parent, const std::string& name, int flags,
                                std::string_view path) {
  UniqueFd folder(
      ::openat(parent.get(), name.c_str(), flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.valid()) return folder;
  // O_NOFOLLOW with O_DIRECTORY says ENOTDIR for a link.
  if (errno == ENOTDIR || errno == ELOOP)
    return Error(ErrorCode::kInvalid, concat(printable(path), " is a link or no folder"));
  return Error::from_errno(errno, concat("opening ", printable(path)));
}

Result<Listing> list_folder(const UniqueFd& folder) {
  const int copy = ::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return Error::from_errno(errno, "listing a folder");
  Listing listing(::fdopendir(copy));
  if (listing == nullptr) {
    const int why = errno;
    ::close(copy);
    return Error::from_errno(why, "listing a folder");
  }
  ::rewinddir(listing.get());
  return listing;
}

const dirent* next_entry(const Listing& listing) {
  const dirent* entry = nullptr;
  do {
    errno = 0;
    entry = ::readdir(listing.get());
  } while (entry != nullptr &&
           (std::string_view(entry->d_name) == "." || std::string_view(entry->d_name) == ".."));
  return entry;
}

Result<bool> is_empty_folder(const UniqueFd& folder, std::string_view passed_over) {
  const auto listing = list_folder(folder);
  if (!listing) return listing.error();
  const dirent* entry = next_entry(*listing);
  while (entry != nullptr && entry->d_name == passed_over) entry = next_entry(*listing);
  if (entry == nullptr && errno != 0) return Error::from_errno(errno, "listing a folder");
  return entry == nullptr;
}

}  // namespace flexlocal
