#include "test/node/stopped_call.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/dm-ioctl.h>
#include <linux/fs.h>
#include <linux/ioctl.h>
#include <sys/ptrace.h>
#include <sys/reg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

namespace flexlocal::test {
namespace {

// What a system call acts on, for the report.
enum class Object { kNone, kPath0, kPath1, kPath0And1, kPath1And3, kFd0 };

struct Call {
  std::string_view name;
  Object object = Object::kNone;
};

// Calls that change something, by name; others are reported by their number.
const std::map<long, Call> kChanging = {
    {SYS_mount, {"mount", Object::kPath1}},
    {SYS_umount2, {"umount2", Object::kPath0}},
    {SYS_move_mount, {"move_mount", Object::kPath1And3}},
    {SYS_fsopen, {"fsopen", Object::kPath0}},
    {SYS_fsconfig, {"fsconfig", Object::kNone}},
    {SYS_fsmount, {"fsmount", Object::kNone}},
    {SYS_open_tree, {"open_tree", Object::kPath1}},
    {SYS_mount_setattr, {"mount_setattr", Object::kNone}},
    {SYS_openat, {"openat", Object::kPath1}},
    {SYS_open, {"open", Object::kPath0}},
    {SYS_write, {"write", Object::kFd0}},
    {SYS_pwrite64, {"pwrite64", Object::kFd0}},
    {SYS_ftruncate, {"ftruncate", Object::kFd0}},
    {SYS_fallocate, {"fallocate", Object::kFd0}},
    {SYS_fsync, {"fsync", Object::kFd0}},
    {SYS_fdatasync, {"fdatasync", Object::kFd0}},
    {SYS_syncfs, {"syncfs", Object::kFd0}},
    {SYS_flock, {"flock", Object::kFd0}},
    {SYS_link, {"link", Object::kPath0And1}},
    {SYS_symlink, {"symlink", Object::kPath0And1}},
    {SYS_mknod, {"mknod", Object::kPath0}},
    {SYS_mknodat, {"mknodat", Object::kPath1}},
    {SYS_semctl, {"semctl", Object::kNone}},
    {SYS_unlink, {"unlink", Object::kPath0}},
    {SYS_unlinkat, {"unlinkat", Object::kPath1}},
    {SYS_rename, {"rename", Object::kPath0And1}},
    {SYS_renameat, {"renameat", Object::kPath1And3}},
    {SYS_renameat2, {"renameat2", Object::kPath1And3}},
    {SYS_mkdir, {"mkdir", Object::kPath0}},
    {SYS_mkdirat, {"mkdirat", Object::kPath1}},
    {SYS_rmdir, {"rmdir", Object::kPath0}},
    {SYS_chmod, {"chmod", Object::kPath0}},
    {SYS_fchmod, {"fchmod", Object::kFd0}},
    {SYS_fchmodat, {"fchmodat", Object::kPath1}},
    {SYS_chown, {"chown", Object::kPath0}},
    {SYS_fchown, {"fchown", Object::kFd0}},
    {SYS_fchownat, {"fchownat", Object::kPath1}},
    {SYS_setxattr, {"setxattr", Object::kPath0}},
    {SYS_fsetxattr, {"fsetxattr", Object::kFd0}},
    {SYS_removexattr, {"removexattr", Object::kPath0}},
    {SYS_fremovexattr, {"fremovexattr", Object::kFd0}},
    {SYS_ioctl, {"ioctl", Object::kFd0}},
    {SYS_io_submit, {"io_submit", Object::kNone}},
    {SYS_quotactl, {"quotactl", Object::kPath1}},
    {SYS_quotactl_fd, {"quotactl_fd", Object::kFd0}},
};

// Calls after which the world outside the process is as before. Signals are never sent by what is
// traced but to a tool on its deadline; execve and wait4 are events of their own.
// clang-format off
const std::set<long> kHarmless = {
    SYS_read, SYS_pread64, SYS_readv, SYS_close, SYS_stat, SYS_fstat, SYS_lstat, SYS_newfstatat,
    SYS_statx, SYS_statfs, SYS_fstatfs, SYS_lseek, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_mremap,
    SYS_madvise, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack,
    SYS_access, SYS_faccessat, SYS_faccessat2, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid,
    SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getpgrp, SYS_poll, SYS_ppoll, SYS_select,
    SYS_pselect6, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep,
    SYS_gettimeofday, SYS_time, SYS_restart_syscall, SYS_futex, SYS_readlink, SYS_readlinkat,
    SYS_getdents64, SYS_getrandom, SYS_fcntl, SYS_prlimit64, SYS_getrlimit, SYS_set_tid_address,
    SYS_set_robust_list, SYS_rseq, SYS_arch_prctl, SYS_prctl, SYS_socket, SYS_connect, SYS_sendto,
    SYS_sendmsg, SYS_pipe2, SYS_dup, SYS_dup2, SYS_dup3, SYS_chdir, SYS_fchdir, SYS_getcwd,
    SYS_setpgid, SYS_close_range, SYS_uname, SYS_sysinfo, SYS_getxattr, SYS_fgetxattr,
    SYS_lgetxattr, SYS_umask, SYS_clone, SYS_clone3, SYS_fork, SYS_vfork, SYS_execve, SYS_wait4,
    SYS_exit, SYS_exit_group, SYS_sched_yield, SYS_sched_getaffinity, SYS_memfd_create,
    SYS_fadvise64, SYS_io_setup, SYS_io_getevents, SYS_io_destroy, SYS_mlock, SYS_munlock,
    SYS_mlockall, SYS_munlockall, SYS_getpriority, SYS_setpriority, SYS_personality, SYS_pipe,
    SYS_recvfrom, SYS_recvmsg, SYS_setsockopt, SYS_getsockopt, SYS_membarrier, SYS_getsockname, SYS_bind, SYS_getrusage,
    SYS_times, SYS_alarm, SYS_setitimer, SYS_capget, SYS_llistxattr, SYS_listxattr};

// Requests that only ask, beside those that are encoded so (asm-generic/ioctl.h): device-mapper's,
// which all hand over and bring back, and a block device's older ones, which are encoded as neither.
const std::set<unsigned long long> kAsking = {
    DM_VERSION, DM_LIST_DEVICES, DM_DEV_STATUS, DM_DEV_WAIT, DM_TABLE_DEPS, DM_TABLE_STATUS,
    DM_LIST_VERSIONS, DM_DEV_ARM_POLL, DM_GET_TARGET_VERSION, BLKROGET, BLKGETSIZE, BLKRAGET,
    BLKSSZGET, BLKIOMIN, BLKIOOPT, BLKALIGNOFF, BLKPBSZGET, BLKDISCARDZEROES, BLKROTATIONAL,
    0x5331 /* CDROM_GET_CAPABILITY */, 0x5401 /* TCGETS */, 0x5413 /* TIOCGWINSZ */};

const std::map<unsigned long long, std::string_view> kRequests = {
    {DM_DEV_CREATE, "DM_DEV_CREATE"}, {DM_DEV_REMOVE, "DM_DEV_REMOVE"},
    {DM_DEV_RENAME, "DM_DEV_RENAME"}, {DM_DEV_SUSPEND, "DM_DEV_SUSPEND"},
    {DM_TABLE_LOAD, "DM_TABLE_LOAD"}, {DM_TABLE_CLEAR, "DM_TABLE_CLEAR"},
    {DM_TARGET_MSG, "DM_TARGET_MSG"}, {BLKFLSBUF, "BLKFLSBUF"}, {BLKDISCARD, "BLKDISCARD"},
    {BLKZEROOUT, "BLKZEROOUT"}};
// clang-format on

bool opens_to_change(unsigned long long flags) { return (flags & (O_CREAT | O_TRUNC)) != 0; }

}  // namespace

StoppedCall::StoppedCall(pid_t process) : process_(process) {
  if (::ptrace(PTRACE_GETREGS, process, nullptr, &registers_) != 0)
    throw std::system_error(errno, std::generic_category(), "reading registers");
}

bool StoppedCall::changes_something() const {
  const long call = number();
  if (call == SYS_openat) return opens_to_change(registers_.rdx);
  if (call == SYS_open) return opens_to_change(registers_.rsi);
  if (call == SYS_write || call == SYS_pwrite64) return writes_to_storage();
  if (call == SYS_ioctl)
    return _IOC_DIR(registers_.rsi) != _IOC_READ && !kAsking.contains(registers_.rsi);
  if (call == SYS_io_submit) return submits_write();
  return !kHarmless.contains(call);
}

std::string StoppedCall::name() const {
  const auto request = kRequests.find(registers_.rsi);
  if (number() == SYS_ioctl && request != kRequests.end()) return std::string(request->second);
  const auto found = kChanging.find(number());
  if (found == kChanging.end()) return "system call " + std::to_string(number());
  return std::string(found->second.name);
}

std::string StoppedCall::object() const {
  const auto found = kChanging.find(number());
  switch (found == kChanging.end() ? Object::kNone : found->second.object) {
    case Object::kPath0:
      return text(registers_.rdi);
    case Object::kPath1:
      return text(registers_.rsi);
    case Object::kPath0And1:
      return text(registers_.rdi) + " to " + text(registers_.rsi);
    case Object::kPath1And3:
      return text(registers_.rsi) + " to " + text(registers_.r10);
    case Object::kFd0:
      return file(registers_.rdi);
    case Object::kNone:
      break;
  }
  return {};
}

void StoppedCall::cancel() const {
  // Not tried again when it fails: the process is gone, and its call with it.
  ::ptrace(PTRACE_POKEUSER, process_, sizeof(long) * ORIG_RAX, -1L);
}

std::string StoppedCall::descriptor(unsigned long long fd) const {
  return "/proc/" + std::to_string(process_) + "/fd/" + std::to_string(fd);
}

// Pipes and sockets lead to other processes, which have their own kill points or none.
bool StoppedCall::writes_to_storage() const {
  struct stat status {};
  if (::stat(descriptor(registers_.rdi).c_str(), &status) != 0) return true;
  return S_ISREG(status.st_mode) || S_ISBLK(status.st_mode);
}

// LVM reads labels and writes metadata by it.
bool StoppedCall::submits_write() const {
  for (unsigned long long i = 0; i < registers_.rsi; ++i) {
    const auto block = word(registers_.rdx + i * sizeof(iocb*));
    const auto at = word(static_cast<unsigned long long>(block) + offsetof(iocb, aio_lio_opcode));
    if (static_cast<std::uint16_t>(at) != IOCB_CMD_PREAD) return true;
  }
  return false;
}

long StoppedCall::word(unsigned long long address) const {
  errno = 0;
  const long value = ::ptrace(PTRACE_PEEKDATA, process_, address, nullptr);
  if (errno != 0) throw std::system_error(errno, std::generic_category(), "reading memory");
  return value;
}

std::string StoppedCall::file(unsigned long long fd) const {
  char path[PATH_MAX];
  const ssize_t length = ::readlink(descriptor(fd).c_str(), path, sizeof path);
  return length < 0 ? "?" : std::string(path, static_cast<std::size_t>(length));
}

std::string StoppedCall::text(unsigned long long address) const {
  std::string out;
  while (out.size() < PATH_MAX) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, process_, address + out.size(), nullptr);
    if (errno != 0) return out;
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    const std::size_t length = ::strnlen(bytes, sizeof bytes);
    out.append(bytes, length);
    if (length < sizeof bytes) break;
  }
  return out;
}

}  // namespace flexlocal::test
