// For how long copies have been orphans, and when each is looked at again.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "flexvolume/base/clock.h"
#include "provisioner/controller/ends/orphan.h"

namespace flexlocal::provisioner {

class OrphanAges {
 public:
  // `options` outlive it.
  OrphanAges(const OrphanOptions& options, const Clock& clock) : options_(options), clock_(clock) {}

  struct Age {
    std::chrono::nanoseconds orphaned{};
    // For so long nothing but time was in the way of its removal.
    std::chrono::nanoseconds removable{};
  };

  // A look at the copy of that name begins: from now on it is known, and rests for a while.
  void begin_look(const std::string& name);
  bool knows(const std::string& name) const { return known_.contains(name); }
  // Whether it was looked at not long ago, and needs no other look yet.
  bool rests(const std::string& name) const { return next_look(name) > std::chrono::seconds(0); }
  // After which time it is looked at again; zero, or less: it does not rest.
  std::chrono::nanoseconds next_look(const std::string& name) const;
  void rest(const std::string& name, std::chrono::nanoseconds pause);
  // It turned out to be none: from now on it is one for no time at all.
  void found_none(const std::string& name);
  // `removable`: whether nothing but time is in the way of its removal now. Zero of one that is not
  // known.
  Age look(const std::string& name, bool removable);
  void forget(const std::string& name) { known_.erase(name); }
  void forget_unless(const std::function<bool(const std::string& name)>& is_there);

 private:
  struct Known {
    Clock::Instant since;            // it is an orphan
    Clock::Instant removable_since;  // nothing but time was in the way of its removal
    Clock::Instant next{};
  };

  const OrphanOptions& options_;
  const Clock& clock_;
  std::map<std::string, Known> known_;  // by VolumeCopy's name
};

}  // namespace flexlocal::provisioner
