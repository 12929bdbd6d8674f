// /proc/<pid>/mountinfo: paths in it are whatever anybody mounted.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/mount_reader.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

// As the kernel writes a path (fs/proc_namespace.c, mangle()).
std::string escaped(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const std::size_t found = std::string_view(" \t\n\\").find(c);
    constexpr std::string_view kOctal[] = {"\\040", "\\011", "\\012", "\\134"};
    if (found == std::string_view::npos)
      out += c;
    else
      out += kOctal[found];
  }
  return out;
}

std::string line_of(const engine::MountEntry& entry) {
  return concat("36 35 ", entry.device, ' ', escaped(entry.root), ' ', escaped(entry.mount_point),
                " rw shared:1 - ", entry.fs_type, ' ', escaped(entry.source), ' ',
                entry.super_options, '\n');
}

Result<UniqueFd> file_with(std::string_view text) {
  UniqueFd fd(::memfd_create("mountinfo", MFD_CLOEXEC));
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  require(written == static_cast<ssize_t>(text.size()), "the text could be written");
  ::lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// As the reader of the mount tables sees it.
engine::MountReading table_of(std::string_view text) {
  auto reading = engine::MountReader(true).read([&] { return file_with(text); },
                                                [](const engine::MountEntry&) { return true; });
  require(reading.ok(), "any text is read to its end");
  return std::move(*reading);
}

bool same(const engine::MountEntry& a, const engine::MountEntry& b) {
  return a.device == b.device && a.root == b.root && a.mount_point == b.mount_point &&
         a.fs_type == b.fs_type && a.source == b.source && a.super_options == b.super_options;
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string_view text = fuzz::as_text(data, size);
  const auto reading = fuzz::table_of(text);
  const auto& table = reading.kept;
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  fuzz::require(table.size() <= reading.lines && reading.lines <= lines,
                "a line is one mount at most");
  std::string rewritten;
  for (const engine::MountEntry& entry : table) {
    rewritten += fuzz::line_of(entry);
    const auto there = engine::mounts_at(table, entry.mount_point);
    fuzz::require(std::any_of(there.begin(), there.end(),
                              [&](const auto& found) { return fuzz::same(found, entry); }),
                  "a mount is found at its mount point");
  }
  const auto again = fuzz::table_of(rewritten).kept;
  fuzz::require(std::equal(table.begin(), table.end(), again.begin(), again.end(), fuzz::same),
                "a table that is written as the kernel does reads back as itself");
  return 0;
}
