// Stops a program, as by SIGSTOP, at the moment when it is about to send a certain HTTP request. It
// is preloaded (LD_PRELOAD) into what speaks HTTP/1.1 by OpenSSL, as a daemon does that writes.
//
//   STOP_BEFORE=FILE   the file's first line is what the request begins with, "PATCH
//   /api/v1/nodes/";
//                      its second line, unless it is empty, stands somewhere in the request
//
// FILE may come and go while the program runs. It is renamed to FILE.met when it has been met, so
// that this happens once. What the program was about to send it sends as soon as it goes on, and
// stops once more: else it might close the connection at once, for the time of the request is over,
// and what the server makes of the request would be chance.

#include <dlfcn.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace {

bool is_met(const std::string& file, std::string_view request) {
  std::ifstream wanted(file);
  std::string beginning;
  std::string part;
  if (!std::getline(wanted, beginning) || beginning.empty()) return false;
  std::getline(wanted, part);
  return request.starts_with(beginning) && request.find(part) != std::string_view::npos;
}

bool stops_before(std::string_view request) {
  const char* const file = std::getenv("STOP_BEFORE");
  if (file == nullptr || !is_met(file, request)) return false;
  const std::string met = std::string(file) + ".met";
  return std::rename(file, met.c_str()) == 0;
}

}  // namespace

// In the place of OpenSSL's.
extern "C" int SSL_write(void* connection, const void* bytes, int count) {
  using Write = int (*)(void*, const void*, int);
  static const auto write = reinterpret_cast<Write>(::dlsym(RTLD_NEXT, "SSL_write"));
  const bool stops =
      stops_before({static_cast<const char*>(bytes), static_cast<std::size_t>(count)});
  if (stops) std::raise(SIGSTOP);
  const int written = write(connection, bytes, count);
  if (stops) std::raise(SIGSTOP);
  return written;
}
