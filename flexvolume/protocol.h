// What kubelet and the plugin say to one another.
// Source: pkg/volume/flexvolume/driver-call.go of Kubernetes.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::plugin {

struct Answer {
  std::string json;  // one object, one line
  int exit_code = 0;
};

Answer success(std::string_view message = {});
Answer failure(const Error& error);
// The word is fixed: kubelet remembers it and stops asking.
Answer not_supported(std::string_view call);
// The driver's capabilities. Constant: kubelet asks under a lock that stalls the whole node.
Answer init_answer();

// A call's JSON argument: one flat object of strings. kInvalid for anything else, for a key that
// stands twice, for a NUL, for invalid UTF-8 and for more than 128 KiB or 1,000 keys.
Result<engine::Options> parse_call_options(std::string_view json);

}  // namespace flexlocal::plugin
