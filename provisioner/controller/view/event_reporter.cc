#include "provisioner/controller/view/event_reporter.h"

#include <utility>

namespace flexlocal::provisioner {

void EventReporter::record(kube::ObjectReference object, kube::EventType type,
                           std::string_view reason, std::string message) {
  recorder_.record({std::move(object), type, std::string(reason), std::move(message)});
}

}  // namespace flexlocal::provisioner
