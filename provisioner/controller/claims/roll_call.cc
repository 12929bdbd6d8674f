#include "provisioner/controller/claims/roll_call.h"

namespace flexlocal::provisioner {

std::optional<std::string> missing_in_roll(const RollEntry& entry, const RollState& state) {
  if (entry.excused) return std::nullopt;
  if (!entry.runs) {
    if (!state.put_back) return std::nullopt;
    return "gives no sign of life, and may have volumes that the API server does not know";
  }
  if (!entry.has_beaten) return "has not renewed its Lease yet";
  if (!entry.tells) {
    if (!state.put_back && state.waited >= kRollPatience) return std::nullopt;
    return "has not said yet which volumes it has";
  }
  if (entry.agrees) return std::nullopt;
  return "does not see the VolumeCopies that the API server has for it yet, or has more volumes "
         "beside them than its Lease can name";
}

}  // namespace flexlocal::provisioner
