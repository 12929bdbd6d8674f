// Texts that credentials are made of: read, and judged.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/result.h"
#include "provisioner/kube/config.h"

namespace flexlocal::kube {

// What a source holds now, at most 1 MiB; a file that is empty is kInvalid.
Result<std::string> content_of(const FileOrData& source, std::string_view what);

// Whether it can be part of a header line.
bool fits_header(std::string_view token);

}  // namespace flexlocal::kube
