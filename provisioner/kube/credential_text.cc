#include "provisioner/kube/credential_text.h"

#include <algorithm>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::kube {

Result<std::string> content_of(const FileOrData& source, std::string_view what) {
  if (source.file.empty()) return source.data;
  auto content = read_file(source.file, kMiB);
  if (!content) return content.error().context(what);
  if (trim(*content).empty())
    return Error(ErrorCode::kInvalid, concat(what, ": ", source.file, " is empty"));
  return content;
}

bool fits_header(std::string_view token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace flexlocal::kube
