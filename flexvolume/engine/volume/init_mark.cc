#include "flexvolume/engine/volume/init_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"

namespace flexlocal::engine {
namespace {

// A version and its end of line.
constexpr Bytes kMostMark{128};

std::string path_of(const std::string& folder) { return concat(folder, '/', kInitMarkName); }

// The folder is there from the second call on, so it is made only when it is missed. What a killed
// process of the same number has left is replaced.
Result<UniqueFd> open_new(const std::string& folder, const std::string& path) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL;
  auto fd = open_file(path, flags, 0644);
  if (fd) return fd;
  if (fd.error().code() == ErrorCode::kNotFound) {
    if (auto made = make_folders(folder); !made) return made.error();
  } else if (fd.error().code() != ErrorCode::kExists || ::unlink(path.c_str()) != 0) {
    return fd;
  }
  return open_file(path, flags, 0644);
}

Status write_line(const UniqueFd& fd, const std::string& line, const std::string& path) {
  const ssize_t written = ::write(fd.get(), line.data(), line.size());
  if (written == static_cast<ssize_t>(line.size())) return {};
  return Error::from_errno(written < 0 ? errno : ENOSPC, concat("writing ", path));
}

Status replace_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return Error::from_errno(errno, concat("renaming ", from, " to ", to));
}

Error no_mark(const std::string& path, std::string_view why) {
  return Error(ErrorCode::kCorrupt, concat(path, " is no mark of flexlocal: ", why));
}

}  // namespace

// Two callers may come at once, since kube-controller-manager calls too: each has a file of its own
// until it is whole.
Status leave_init_mark(const std::string& folder) {
  const std::string temporary = concat(path_of(folder), '.', ::getpid());
  Status left;
  {
    const auto fd = open_new(folder, temporary);
    if (!fd) return fd.error();
    left = write_line(*fd, concat(version(), '\n'), temporary);
  }
  if (left) left = replace_file(temporary, path_of(folder));
  if (!left) (void)::unlink(temporary.c_str());  // the next boot removes what stays
  return left;
}

// Opened twice: the first time nothing happens to what is there, whatever it is, and a link is not
// followed.
Result<InitMark> read_init_mark(const std::string& folder) {
  const std::string path = path_of(folder);
  const auto there = open_file(path, O_PATH | O_NOFOLLOW);
  if (!there && there.error().code() == ErrorCode::kNotFound) return InitMark();
  if (!there) return there.error();
  const auto content = read_file(descriptor_path(*there), kMostMark);
  if (!content) return no_mark(path, "it is a link, too long, or no plain file");
  const std::string_view text = trim(*content);
  if (text.empty()) return no_mark(path, "it is empty");
  if (text != printable(text)) return no_mark(path, "it is no text");
  return InitMark(text);
}

}  // namespace flexlocal::engine
