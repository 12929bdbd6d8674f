#include "provisioner/daemon/endpoint.h"

#include <arpa/inet.h>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

bool is_address(int family, const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(family, text.c_str(), bytes) == 1;
}

Error wrong(std::string_view text) {
  return Error(ErrorCode::kInvalid,
               concat('"', printable(text, 80),
                      "\": accepted are :PORT, ADDRESS:PORT, [IPV6-ADDRESS]:PORT"));
}

}  // namespace

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  unsigned long long port = 0;
  if (colon == std::string_view::npos || !parse_number(text.substr(colon + 1), 65535, port))
    return wrong(text);
  std::string host(text.substr(0, colon));
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (!is_address(AF_INET6, host)) return wrong(text);
  } else if (!host.empty() && !is_address(AF_INET, host)) {
    return wrong(text);
  }
  return Endpoint{std::move(host), static_cast<std::uint16_t>(port)};
}

}  // namespace flexlocal::provisioner
