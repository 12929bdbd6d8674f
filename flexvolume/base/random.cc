#include "flexvolume/base/random.h"

#include <sys/random.h>

#include <cerrno>

namespace flexlocal {

Result<std::string> random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  ssize_t got = 0;
  do got = ::getrandom(bytes.data(), bytes.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes.size())) return Error::from_errno(errno, "getrandom");
  return bytes;
}

}  // namespace flexlocal
