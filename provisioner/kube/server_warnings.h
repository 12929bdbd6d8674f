// What the API server says by `Warning:` headers: that a kind is going away, or a field is of no
// use.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "flexvolume/base/log.h"

namespace flexlocal::kube {

// The texts of the warnings with code 299 in a header's value, at most 16, each cut to 1 KiB and
// without control characters. Where the value is not as RFC 7234 has it, its rest is dropped.
// Source: RFC 7234, 5.5; k8s.io/apimachinery/pkg/util/net/http.go (ParseWarningHeader)
std::vector<std::string> parse_warnings(std::string_view value);

// Logs each text once. Not more than `most` are remembered; after that it says so once, and no
// further one is logged.
class ServerWarnings {
 public:
  explicit ServerWarnings(Log& log, std::size_t most = 128) : log_(log), most_(most) {}

  // A whole header line, whatever it is of.
  void parse_header(std::string_view line);

 private:
  void report(const std::string& text);

  Log& log_;
  std::size_t most_;
  bool full_ = false;
  std::unordered_set<std::string> reported_;
};

}  // namespace flexlocal::kube
