// That the API server was put back to an earlier state, for the processes that come after the one
// which saw it.
#pragma once

#include <string>

#include "flexvolume/base/log.h"

namespace flexlocal::provisioner {

// A file in the folder of the locks, which is empty after the host was started anew.
class PutBackMark {
 public:
  explicit PutBackMark(const std::string& folder);

  // It was seen now. A mark that cannot be written is logged.
  void note(Log& log) const;
  // Whether it was seen within kPutBackCounts.
  bool is_recent() const;

 private:
  std::string path_;
};

}  // namespace flexlocal::provisioner
