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

// In place of the list the server says why it cannot send one; only what has nothing to do with how
// it was asked for may be answered otherwise the next time.
Error no_list(JsonView status) {
  Error error = error_of_status(status);
  const auto code = status["code"].integer();
  const bool may_come = error.code() == ErrorCode::kGone || code == 429 || code == 503;
  return may_come ? error : Error(ErrorCode::kInvalid, error.message());
}

// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (InitialEventsAnnotationKey)
bool ends_list(JsonView bookmark) {
  return bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"].text() == "true";
}

bool is_about_an_object(std::string_view type) {
  return type == "ADDED" || type == "MODIFIED" || type == "DELETED";
}

}  // namespace

Status WatchIntake::take(const WatchEvent& event) {
  stats_.events.add();
  if (in_list_) return handle_listed(event);
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

// Events that happen meanwhile come among the objects, each behind what it changes; so an object
// that is deleted here is in the list no more.
Status WatchIntake::handle_listed(const WatchEvent& event) {
  if (event.type == WatchEventType::kError) return no_list(event.object);
  if (event.type == WatchEventType::kDeleted) {
    sink_.unlisted(event.object);
    reflector_.streamed();
    return {};
  }
  if (event.type != WatchEventType::kBookmark) {
    sink_.listed(event.object);
    reflector_.streamed();
    return {};
  }
  const std::string_view version = event.object["metadata"]["resourceVersion"].text();
  if (!ends_list(event.object) || version.empty())
    return Error(ErrorCode::kInvalid, "the server does not say where the objects of its watch end");
  in_list_ = false;
  sink_.list_ended(version);
  reflector_.listed("", version);
  reflector_.watched(version);
  return {};
}

std::string_view WatchIntake::needed(std::string_view line, std::string& room) {
  const auto head = scan_event(line);
  if (!head || !is_about_an_object(head->type)) return line;
  const bool news = concerns_us(line, *head, kind_, sink_) && is_news(*head);
  const bool lost = !in_list_ && goes_back(head->version);
  if (news || lost) return without_managed_fields(line, *head, room);
  pass_over(*head);
  return {};
}

void WatchIntake::pass_over(const EventHead& head) {
  stats_.events.add();
  stats_.passed_over.add();
  if (in_list_) return reflector_.streamed();
  sink_.advanced(head.version);
  reflector_.watched(head.version);
}

// What we wrote ourselves was taken in with the answer. A list names what is in it, known or not.
bool WatchIntake::is_news(const EventHead& head) const {
  return in_list_ || head.type == "DELETED" || !sink_.has(head.key(), head.version);
}

bool WatchIntake::goes_back(std::string_view version) const {
  return ObjectVersion(reflector_.version()).newer_than(ObjectVersion(version));
}

}  // namespace flexlocal::kube
