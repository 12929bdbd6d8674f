// Loaded into linux.uml (LD_PRELOAD) so that it runs on any x86 processor.
//
// User-mode Linux 6.1 keeps a guest process's extended registers in 2696 bytes,
// all there was up to AVX-512. The host's ptrace takes the whole state or fails
// with EFAULT, and with AMX the whole is 11008 bytes: the guest's first process
// dies with "ptrace set fp regs failed, errno = 14". Here the part that does not
// fit is left out on reading and handed over as "never used" on writing; it
// holds AMX tiles only, which a program cannot use unless it asks for them.
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

typedef long (*ptrace_function)(int request, int pid, void *addr, void *data);

enum { kWholeMax = 64 * 1024, kInUseOffset = 512 };

// Not on the stack: the caller's, a kernel thread's, has 16 KiB. Only one thread
// of linux.uml traces.
static char read_buffer[kWholeMax];
static char write_buffer[kWholeMax];  // zero beyond what the caller keeps

// The components (Intel SDM vol. 1, 13.4) that lie within the first `kept` bytes.
static uint64_t components_within(size_t kept) {
  uint64_t mask = 3;  // x87 and SSE: the legacy area
  for (unsigned i = 2; i < 63; ++i) {
    unsigned size, offset, c, d;
    __cpuid_count(0xd, i, size, offset, c, d);
    if (size != 0 && (size_t)size + offset <= kept) mask |= 1ULL << i;
  }
  return mask;
}

static long read_state(ptrace_function host, int pid, void *type, struct iovec *kept) {
  struct iovec whole = {read_buffer, sizeof read_buffer};
  long result = host(PTRACE_GETREGSET, pid, type, &whole);
  if (result != 0) return result;
  if (kept->iov_len > whole.iov_len) kept->iov_len = whole.iov_len;
  memcpy(kept->iov_base, read_buffer, kept->iov_len);
  return 0;
}

static long write_state(ptrace_function host, int pid, void *type, struct iovec *kept) {
  static size_t whole_size;
  static uint64_t known;
  if (whole_size == 0) {
    struct iovec probe = {read_buffer, sizeof read_buffer};
    long result = host(PTRACE_GETREGSET, pid, type, &probe);
    if (result != 0) return result;
    whole_size = probe.iov_len;
    known = components_within(kept->iov_len);
  }
  if (kept->iov_len >= whole_size) return host(PTRACE_SETREGSET, pid, type, kept);

  memcpy(write_buffer, kept->iov_base, kept->iov_len);
  uint64_t in_use;
  memcpy(&in_use, write_buffer + kInUseOffset, sizeof in_use);
  in_use &= known;
  memcpy(write_buffer + kInUseOffset, &in_use, sizeof in_use);
  struct iovec whole = {write_buffer, whole_size};
  return host(PTRACE_SETREGSET, pid, type, &whole);
}

long ptrace(enum __ptrace_request request, ...) {
  static ptrace_function host;
  if (host == NULL) host = (ptrace_function)dlsym(RTLD_NEXT, "ptrace");

  va_list arguments;
  va_start(arguments, request);
  int pid = va_arg(arguments, int);
  void *addr = va_arg(arguments, void *);
  void *data = va_arg(arguments, void *);
  va_end(arguments);

  if ((uintptr_t)addr == NT_X86_XSTATE) {
    if (request == PTRACE_GETREGSET) return read_state(host, pid, addr, data);
    if (request == PTRACE_SETREGSET) return write_state(host, pid, addr, data);
  }
  return host((int)request, pid, addr, data);
}
