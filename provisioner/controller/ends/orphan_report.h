// Tells of copies that no PersistentVolume names: as events on the Node or the claim, and in the
// log. Not the same words of a copy again within the hour for which events are kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "provisioner/controller/ends/orphan.h"
#include "provisioner/controller/ends/orphan_ages.h"
#include "provisioner/controller/view/event_reporter.h"

namespace flexlocal::provisioner {

// For as long an event is kept.
inline constexpr std::chrono::hours kOrphanReportInterval{1};

class OrphanReport {
 public:
  // `ages`: of what they do not know any more nothing is told.
  OrphanReport(const OrphanAges& ages, EventReporter events, const Clock& clock, Log& log)
      : ages_(ages), events_(std::move(events)), clock_(clock), log_(log) {}

  // `what` follows the copy's name and place.
  void report(const Orphan& orphan, const std::string& what);
  // Its claim lives, and has lost its PersistentVolume.
  void report_to_claim(const Claim& claim, const CopyOrder& order);
  // Its removal begins, is done, or does not go on.
  void report_removing(const CopyOrder& order);
  void report_removed(const CopyOrder& order);
  void report_stuck(const CopyOrder& order, const std::string& why);

  void forget(const std::string& name) { told_.erase(name); }
  void forget_unless(const std::function<bool(const std::string& name)>& is_there);

 private:
  struct Told {
    std::string text;
    Clock::Instant at{};
  };

  bool is_new(const std::string& name, const std::string& text);
  void record_event(const CopyOrder& order, kube::EventType type, std::string_view reason,
                    const std::string& message);

  const OrphanAges& ages_;
  EventReporter events_;
  const Clock& clock_;
  Log& log_;
  std::map<std::string, Told> told_;  // last, by VolumeCopy's name
};

}  // namespace flexlocal::provisioner
