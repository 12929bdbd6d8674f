// Something that is tried again and again: its trouble is logged when it begins and when it
// changes, not at every try.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/log.h"
#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

class LastingTrouble {
 public:
  // To be called after each try. Logs a warning, `text` with the error, unless the last try ended
  // with the same one. A try that was cancelled, or that somebody else was faster than, is no
  // trouble.
  void look(const Status& tried, Log& log, std::string_view text);

 private:
  std::string told_;
};

}  // namespace flexlocal::provisioner
