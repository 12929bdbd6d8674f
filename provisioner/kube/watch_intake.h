// The events of a watch on their way from the stream into the store.
#pragma once

#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/reflector.h"
#include "provisioner/kube/watch_decoder.h"

namespace flexlocal::kube {

class WatchIntake final : public WatchEventSink {
 public:
  WatchIntake(const ResourceKind& kind, Reflector& reflector, ObjectSink& sink,
              ReflectorStats& stats)
      : kind_(kind), reflector_(reflector), sink_(sink), stats_(stats) {}

  Status take(const WatchEvent& event) override;

  // See object_filter.h.
  std::string_view needed(std::string_view line, std::string& room) override;

 private:
  // An event that is older than one before it: of events in the wrong order the store can tell
  // neither which are missing nor that an object is gone already, so the list is read anew. The
  // same version again does no harm.
  bool goes_back(std::string_view version) const;

  const ResourceKind& kind_;
  Reflector& reflector_;
  ObjectSink& sink_;
  ReflectorStats& stats_;
};

}  // namespace flexlocal::kube
