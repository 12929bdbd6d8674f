// What is told of a subject by events: not the same text again at every look.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "flexvolume/base/clock.h"

namespace flexlocal::provisioner {

class NewsFilter {
 public:
  // True if the text is another one than last told for that reason, or was told an hour ago, which
  // is how long events are kept. Then it counts as told.
  bool is_news(const std::string& subject, std::string_view reason, std::string_view text,
               Clock::Instant now);

  // True if nothing was told of the subject for that reason within `pause`: for a text that changes
  // all the time. Then it counts as told.
  bool is_due(const std::string& subject, std::string_view reason, std::chrono::nanoseconds pause,
              Clock::Instant now);

  // Its next text is news.
  void forget(const std::string& subject) { told_.erase(subject); }

 private:
  struct Told {
    std::string text;
    Clock::Instant when;
  };
  std::map<std::string, std::map<std::string, Told>> told_;  // by subject and reason
};

}  // namespace flexlocal::provisioner
