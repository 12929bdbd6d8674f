#include "provisioner/controller/reclaim/orphan_policy.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

Result<OrphanPolicy> parse_orphan_policy(std::string_view text) {
  if (text == "report") return OrphanPolicy::kReport;
  if (text == "delete") return OrphanPolicy::kDelete;
  return Error(ErrorCode::kInvalid, concat("orphan policy \"", printable(text, 40),
                                           "\" is not known; accepted: report, delete"));
}

}  // namespace flexlocal::provisioner
