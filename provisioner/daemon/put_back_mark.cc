#include "provisioner/daemon/put_back_mark.h"

#include <sys/stat.h>

#include "flexvolume/base/fd.h"
#include "provisioner/controller/view/roll.h"

namespace flexlocal::provisioner {

PutBackMark::PutBackMark(const std::string& folder) : path_(folder + "/put-back") {}

void PutBackMark::note(Log& log) const {
  if (const Status noted = write_file_atomically(path_, "", 0600); !noted)
    log.warning("it cannot be noted that the API server was put back",
                {{"file", path_}, {"error", noted.error().message()}});
}

bool PutBackMark::is_recent() const {
  struct stat mark {};
  if (::lstat(path_.c_str(), &mark) != 0) return false;
  const auto seen = std::chrono::system_clock::from_time_t(mark.st_mtime);
  return std::chrono::system_clock::now() - seen < kPutBackCounts;
}

}  // namespace flexlocal::provisioner
