// How far the wiping of a volume has come, and when a person should hear of it.
#pragma once

#include <string>

#include "flexvolume/base/clock.h"
#include "flexvolume/engine/volume/volume_backend.h"

namespace flexlocal::provisioner {

class WipeProgress {
 public:
  // Takes in where the wipe stands. True when it is worth an event: the first time, then a minute
  // after the last one at the earliest, when a tenth more is done or ten minutes have gone. So a
  // wipe of hours shows in `kubectl describe`, which forgets events after an hour, and writes few.
  bool advance(const engine::Removal& removal, Clock::Instant now);

  // "wiping: 12 GiB of 100 GiB"
  std::string text() const;

  // When its volume is not to be removed any more. True once for each time that this happens.
  bool stop();
  // What is left, for a person who changed their mind.
  std::string stopped_text() const;

 private:
  engine::Removal latest_{};
  Bytes reported_wiped_;
  Clock::Instant reported_at_{};
  bool reported_ = false;
  bool stopped_ = false;
};

}  // namespace flexlocal::provisioner
