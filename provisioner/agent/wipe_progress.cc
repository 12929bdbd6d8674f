#include "provisioner/agent/wipe_progress.h"

#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kLeastPause = std::chrono::minutes(1);
constexpr auto kLongestPause = std::chrono::minutes(10);
constexpr std::uint64_t kSteps = 10;

}  // namespace

bool WipeProgress::advance(const engine::Removal& removal, Clock::Instant now) {
  latest_ = removal;
  stopped_ = false;
  const auto pause = now - reported_at_;
  const bool step = removal.wiped - reported_wiped_ >= Bytes(removal.size.count() / kSteps);
  if (reported_ && (pause < kLeastPause || (pause < kLongestPause && !step))) return false;
  reported_ = true;
  reported_at_ = now;
  reported_wiped_ = removal.wiped;
  return true;
}

std::string WipeProgress::text() const {
  return concat("wiping: ", to_string(latest_.wiped), " of ", to_string(latest_.size));
}

bool WipeProgress::stop() { return !std::exchange(stopped_, true); }

std::string WipeProgress::stopped_text() const {
  const std::string how_much = latest_.size == Bytes(0) ? std::string("part of it is")
                                                        : concat(to_string(latest_.wiped), " of ",
                                                                 to_string(latest_.size), " are");
  return concat("the volume is to be kept since its wiping began: ", how_much,
                " wiped and lost; the rest stays on the disk as it is and is never mounted again; "
                "set the reclaim policy to Delete to go on");
}

}  // namespace flexlocal::provisioner
