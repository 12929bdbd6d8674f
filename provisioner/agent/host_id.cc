#include "provisioner/agent/host_id.h"

#include "flexvolume/base/hex.h"
#include "flexvolume/base/random.h"
#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kBytes = 16;

}  // namespace

Result<std::string> host_id(const std::string& state_dir) {
  const std::string path = concat(state_dir, "/host-id");
  auto known = read_file(path, Bytes(64));
  if (!known && known.error().code() != ErrorCode::kNotFound) return known;
  if (known) {
    const auto bytes = from_hex(*known);
    if (bytes && bytes->size() == kBytes) return known;
    return Error(ErrorCode::kCorrupt,
                 concat(path, " is damaged; remove it, and this host gets another id"));
  }
  const auto drawn = random_bytes(kBytes);
  if (!drawn) return drawn.error();
  const std::string id = to_hex(*drawn);
  if (auto made = make_folders(state_dir); !made) return made.error();
  if (auto kept = write_file_atomically(path, id, 0600); !kept) return kept.error();
  return id;
}

// man 4 random: drawn by the kernel at each boot.
Result<std::string> running_host(const std::string& host_id) {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", Bytes(64));
  if (!boot) return boot.error();
  return concat(host_id, '-', boot->substr(0, 8));
}

Result<FileLock> lock_host(const std::string& lock_dir, std::chrono::milliseconds patience) {
  if (auto made = make_folders(lock_dir); !made) return made.error();
  auto lock = FileLock::acquire(concat(lock_dir, "/node-daemon"), patience);
  if (lock || lock.error().code() != ErrorCode::kDeadline) return lock;
  return Error(ErrorCode::kBusy,
               concat("another node daemon works on this host; end that one first (",
                      lock.error().message(), ')'));
}

}  // namespace flexlocal::provisioner
