// Records events on objects, for one worker.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "provisioner/kube/events.h"
#include "provisioner/objects/objects.h"
#include "provisioner/work/news_filter.h"

namespace flexlocal::provisioner {

class EventReporter {
 public:
  EventReporter(kube::EventRecorder& recorder, const Clock& clock)
      : recorder_(recorder), clock_(clock) {}

  // Each time.
  void record(kube::ObjectReference object, kube::EventType type, std::string_view reason,
              std::string message);
  void record(const Claim& claim, kube::EventType type, std::string_view reason,
              std::string message) {
    record(reference_to(claim), type, reason, std::move(message));
  }
  void record(const Volume& volume, kube::EventType type, std::string_view reason,
              std::string message) {
    record(reference_to(volume), type, reason, std::move(message));
  }

  // Not the same text again within the hour for which events are kept.
  void report(const Claim& claim, kube::EventType type, std::string_view reason,
              const std::string& message) {
    if (is_news(claim.key(), reason, message)) record(claim, type, reason, message);
  }
  void report(const Volume& volume, kube::EventType type, std::string_view reason,
              const std::string& message) {
    if (is_news(volume.name, reason, message)) record(volume, type, reason, message);
  }

  // See NewsFilter. A claim is the subject "namespace/name", a PersistentVolume its name.
  bool is_news(const std::string& subject, std::string_view reason, std::string_view text) {
    return news_.is_news(subject, reason, text, clock_.now());
  }
  bool is_due(const std::string& subject, std::string_view reason, std::chrono::nanoseconds pause) {
    return news_.is_due(subject, reason, pause, clock_.now());
  }
  void forget(const std::string& subject) { news_.forget(subject); }

 private:
  kube::EventRecorder& recorder_;
  const Clock& clock_;
  NewsFilter news_;
};

}  // namespace flexlocal::provisioner
