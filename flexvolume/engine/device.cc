#include "flexvolume/engine/device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/hex.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kXfsUuidAt = 32;
constexpr std::size_t kXfsInProgressAt = 126;
constexpr std::size_t kExtMagicAt = 1080;
constexpr std::size_t kExtUuidAt = 1128;
constexpr std::string_view kExtMagic = "\x53\xef";

// A uuid's text of its 16 bytes.
std::string uuid_text(std::string_view raw) {
  const std::string hex = to_hex(raw);
  return concat(hex.substr(0, 8), '-', hex.substr(8, 4), '-', hex.substr(12, 4), '-',
                hex.substr(16, 4), '-', hex.substr(20));
}

}  // namespace

Content classify_superblock(std::string_view start, FsType type, std::string_view uuid) {
  if (start.size() < kSuperblockBytes) return Content::kForeign;
  if (start.starts_with("XFSB")) {
    const bool ours =
        type == FsType::kXfs && uuid_text(start.substr(kXfsUuidAt, kUuidBytes)) == uuid;
    if (!ours) return Content::kForeign;
    return start[kXfsInProgressAt] != 0 ? Content::kIncomplete : Content::kComplete;
  }
  if (start.substr(kExtMagicAt, kExtMagic.size()) == kExtMagic) {
    const bool ours =
        type == FsType::kExt4 && uuid_text(start.substr(kExtUuidAt, kUuidBytes)) == uuid;
    return ours ? Content::kComplete : Content::kForeign;
  }
  return Content::kBlank;
}

Result<std::string> KernelDevices::mapper_uuid(const std::string& path) {
  struct stat status {};
  if (::stat((root_ + path).c_str(), &status) != 0)
    return Error::from_errno(errno, concat("looking at ", path));
  if (!S_ISBLK(status.st_mode))
    return Error(ErrorCode::kDenied, concat(path, " is not a block device"));
  const std::string uuid_path =
      concat("/sys/dev/block/", major(status.st_rdev), ':', minor(status.st_rdev), "/dm/uuid");
  const auto uuid = read_file(uuid_path, kKiB);
  if (!uuid) {
    if (uuid.error().code() == ErrorCode::kNotFound)
      return Error(ErrorCode::kDenied, concat(path, " is not a device-mapper device"));
    return uuid.error();
  }
  return std::string(trim(*uuid));
}

Result<std::string> KernelDevices::read(const std::string& path, Bytes offset, std::size_t bytes) {
  const auto fd = open_file(root_ + path, O_RDONLY);
  if (!fd) return fd.error();
  std::string content(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::pread(fd->get(), content.data() + done, bytes - done,
                                static_cast<off_t>(offset.count() + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, concat("reading ", path));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  content.resize(done);
  return content;
}

}  // namespace flexlocal::engine
