#include "flexvolume/engine/host/mount_reader.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::size_t kBlock = 65536;
// What is of interest stands well before it; a line of an overlay with many layers may be longer.
constexpr std::size_t kLongestLine = 1U << 16U;
constexpr int kMostReadings = 16;

struct Digest {
  std::size_t lines = 0;
  std::size_t value = 0;

  void add(std::string_view line) {
    ++lines;
    value = value * 1099511628211U ^ std::hash<std::string_view>()(line);
  }
  bool operator==(const Digest&) const = default;
};

// One reading, from the first line to the last.
class Pass {
 public:
  explicit Pass(const KeepMount& keep) : keep_(keep) {}

  Status run(const UniqueFd& fd) {
    std::string text;
    for (;;) {
      const std::size_t had = text.size();
      text.resize(had + kBlock);
      const ssize_t got = ::read(fd.get(), text.data() + had, kBlock);
      if (got < 0 && errno != EINTR) return Error::from_errno(errno, "reading a mount table");
      text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got == 0) break;
      const std::size_t end = text.rfind('\n') + 1;
      take({text.data(), end});
      text.erase(0, end);
      if (text.size() > 2 * kLongestLine) text.erase(kLongestLine, text.size() - 2 * kLongestLine);
    }
    take(text);
    return {};
  }

  std::vector<MountEntry> kept;
  Digest digest;

 private:
  void take(std::string_view lines) {
    for (const std::string_view line : split(lines, '\n')) {
      if (line.empty()) continue;
      digest.add(line);
      auto entry = parse_mount_line(line);
      if (entry && keep_(*entry)) kept.push_back(std::move(*entry));
    }
  }

  const KeepMount& keep_;
};

}  // namespace

bool lists_every_mount(const std::string& kernel_release) {
  const auto parts = split(kernel_release, '.');
  unsigned long long major = 0;
  unsigned long long minor = 0;
  if (parts.size() < 2 || !parse_number(parts[0], 9999, major)) return false;
  const std::string_view digits = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
  if (!parse_number(digits, 9999, minor)) return false;
  return major > 5 || (major == 5 && minor >= 8);
}

MountReader::MountReader() : lists_every_mount_(false) {
  utsname kernel{};
  if (::uname(&kernel) == 0) lists_every_mount_ = engine::lists_every_mount(kernel.release);
}

Result<MountReading> MountReader::read(const std::string& path, const KeepMount& keep) const {
  return read([&] { return open_file(path, O_RDONLY); }, keep);
}

Result<MountReading> MountReader::read(const Open& open, const KeepMount& keep) const {
  Digest before;
  for (int readings = 1; readings <= kMostReadings; ++readings) {
    const auto fd = open();
    if (!fd) return fd.error();
    Pass pass(keep);
    if (auto done = pass.run(*fd); !done) return done.error();
    if (lists_every_mount_ || (readings > 1 && pass.digest == before))
      return MountReading{std::move(pass.kept), pass.digest.lines};
    before = pass.digest;
  }
  return Error(
      ErrorCode::kUnavailable,
      "the mount table keeps changing while it is read, and this kernel then leaves mounts out");
}

}  // namespace flexlocal::engine
