#include "provisioner/kube/watch_intake.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/event_scan.h"
#include "provisioner/kube/object_filter.h"
#include "provisioner/kube/version.h"

namespace flexlocal::kube {
namespace {

// Whatever the server says in mid-stream, it may have left events out: only being told to come
// later (429) is no reason to list anew. client-go decides so, too.
Error refusal(JsonView status) {
  Error error = error_of_status(status);
  if (status["code"].integer() == 429) return error;
  return Error(ErrorCode::kGone, error.message());
}

bool is_about_an_object(std::string_view type) {
  return type == "ADDED" || type == "MODIFIED" || type == "DELETED";
}

}  // namespace

Status WatchIntake::take(const WatchEvent& event) {
  stats_.events.add();
  if (event.type == WatchEventType::kError) return refusal(event.object);
  const std::string_view version = event.object["metadata"]["resourceVersion"].text();
  if (event.type != WatchEventType::kBookmark && goes_back(version))
    return Error(ErrorCode::kGone, concat("the watch went back from version ", reflector_.version(),
                                          " to ", printable(version, 64)));
  if (event.type == WatchEventType::kBookmark)
    sink_.advanced(version);
  else if (event.type == WatchEventType::kDeleted)
    sink_.removed(event.object);
  else
    sink_.applied(event.object);
  reflector_.watched(version);
  return {};
}

std::string_view WatchIntake::needed(std::string_view line, std::string& room) {
  const auto head = scan_event(line);
  if (!head || !is_about_an_object(head->type)) return line;
  // What we wrote ourselves was taken in with the answer.
  const bool news = concerns_us(line, *head, kind_, sink_) &&
                    (head->type == "DELETED" || !sink_.has(head->key(), head->version));
  if (!news && !goes_back(head->version)) {
    stats_.events.add();
    stats_.passed_over.add();
    sink_.advanced(head->version);
    reflector_.watched(head->version);
    return {};
  }
  return without_managed_fields(line, *head, room);
}

bool WatchIntake::goes_back(std::string_view version) const {
  return ObjectVersion(reflector_.version()).newer_than(ObjectVersion(version));
}

}  // namespace flexlocal::kube
