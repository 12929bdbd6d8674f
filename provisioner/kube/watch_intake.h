// The events of a watch on their way from the stream into the store.
#pragma once

#include "provisioner/kube/event_scan.h"
#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/reflector.h"
#include "provisioner/kube/watch_decoder.h"

namespace flexlocal::kube {

class WatchIntake final : public WatchEventSink {
 public:
  // kWithList: the events up to the bookmark that says so are a list, in no order of versions.
  // kInvalid when another bookmark comes, or an ERROR that says that the server cannot send them.
  enum class Begins { kInOrder, kWithList };

  WatchIntake(const ResourceKind& kind, Reflector& reflector, ObjectSink& sink,
              ReflectorStats& stats, Begins begins = Begins::kInOrder)
      : kind_(kind),
        reflector_(reflector),
        sink_(sink),
        stats_(stats),
        in_list_(begins == Begins::kWithList) {}

  Status take(const WatchEvent& event) override;
  // Whether the list has not come to its end.
  bool in_list() const { return in_list_; }

  // See object_filter.h.
  std::string_view needed(std::string_view line, std::string& room) override;

 private:
  // An event that is older than one before it: of events in the wrong order the store can tell
  // neither which are missing nor that an object is gone already, so the list is read anew. The
  // same version again does no harm.
  bool goes_back(std::string_view version) const;
  bool is_news(const EventHead& head) const;
  void pass_over(const EventHead& head);
  Status handle_listed(const WatchEvent& event);

  const ResourceKind& kind_;
  Reflector& reflector_;
  ObjectSink& sink_;
  ReflectorStats& stats_;
  bool in_list_;
};

}  // namespace flexlocal::kube
