// The address that the daemon's own pages are served at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

struct Endpoint {
  std::string host;        // an IPv4 or IPv6 address; empty: all of the machine's
  std::uint16_t port = 0;  // 0: one that is free
};

// ":8080", "127.0.0.1:8080", "[::1]:8080", "localhost:8080". kInvalid, in words, on anything else:
// names are not resolved.
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace flexlocal::provisioner
