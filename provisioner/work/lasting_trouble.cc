#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

void LastingTrouble::look(const Status& tried, Log& log, std::string_view text) {
  const ErrorCode code = tried ? ErrorCode::kCancelled : tried.error().code();
  const bool quiet = code == ErrorCode::kCancelled || code == ErrorCode::kConflict;
  std::string trouble = quiet ? std::string() : tried.error().message();
  if (!trouble.empty() && trouble != told_) log.warning(text, {{"error", trouble}});
  told_ = std::move(trouble);
}

}  // namespace flexlocal::provisioner
