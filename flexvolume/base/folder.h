// Folders that are held open, so that nobody can put another one in their place meanwhile.
#pragma once

#include <dirent.h>

#include <memory>
#include <string>
#include <string_view>

#include "flexvolume/base/fd.h"

namespace flexlocal {

// openat(2) of the folder of that name in another one, with O_CLOEXEC added. kInvalid where it is
// no folder but a link, or anything else. `path` is what the error calls it.
Result<UniqueFd> open_folder_in(const UniqueFd& parent, const std::string& name, int flags,
                                std::string_view path);

struct CloseListing {
  void operator()(DIR* listing) const { ::closedir(listing); }
};
using Listing = std::unique_ptr<DIR, CloseListing>;

// From its first entry on. The descriptor's copies share one position, so that only one listing of
// it is read at a time.
Result<Listing> list_folder(const UniqueFd& folder);

// The next one that is neither "." nor "..". Null with errno 0: there is none; else what went
// wrong.
const dirent* next_entry(const Listing& listing);

// Whether the folder, open for reading, has no entry but `passed_over`.
Result<bool> is_empty_folder(const UniqueFd& folder, std::string_view passed_over = {});

}  // namespace flexlocal
