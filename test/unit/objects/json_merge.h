// What an API server does with a merge patch.
#pragma once

#include <string>

#include "flexvolume/base/json.h"

namespace flexlocal::provisioner::test {

// A text that must be JSON; a test whose own is not is wrong and throws.
JsonDocument parsed(const std::string& text);

// `target` with `patch` merged into it: RFC 7396.
std::string merged(const std::string& target, JsonView patch);
std::string merged(const std::string& target, const std::string& patch);

}  // namespace flexlocal::provisioner::test
