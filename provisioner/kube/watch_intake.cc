#include "provisioner/kube/watch_intake.h"

#include <cstring>

#include "flexvolume/base/text.h"
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

// Faster than std::string_view::find, which looks at every quote when the mark begins with one.
bool contains(std::string_view text, std::string_view piece) {
  return ::memmem(text.data(), text.size(), piece.data(), piece.size()) != nullptr;
}

// Backslashes are rarer than what memmem would look at for two bytes.
bool has_unicode_escape(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != std::string_view::npos; at = text.find('\\', at + 1))
    if (text.substr(at + 1).starts_with('u')) return true;
  return false;
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
  if (!concerns_us(line, *head) && !goes_back(head->version)) {
    stats_.events.add();
    stats_.passed_over.add();
    sink_.advanced(head->version);
    reflector_.watched(head->version);
    return {};
  }
  const std::string_view fields = head->managed_fields;
  if (fields.empty()) return line;
  const auto before = static_cast<std::size_t>(fields.data() - line.data());
  room.assign(line.substr(0, before));
  room += "null";
  room += line.substr(before + fields.size());
  return room;
}

bool WatchIntake::goes_back(std::string_view version) const {
  return ObjectVersion(reflector_.version()).newer_than(ObjectVersion(version));
}

bool WatchIntake::concerns_us(std::string_view line, const EventHead& head) const {
  return kind_.mark.empty() || contains(line, kind_.mark) || has_unicode_escape(line) ||
         sink_.knows(head.key());
}

}  // namespace flexlocal::kube
