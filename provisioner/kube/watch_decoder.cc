#include "provisioner/kube/watch_decoder.h"

#include <optional>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

std::optional<WatchEventType> type_of(std::string_view word) {
  if (word == "ADDED") return WatchEventType::kAdded;
  if (word == "MODIFIED") return WatchEventType::kModified;
  if (word == "DELETED") return WatchEventType::kDeleted;
  if (word == "BOOKMARK") return WatchEventType::kBookmark;
  if (word == "ERROR") return WatchEventType::kError;
  return std::nullopt;
}

Error not_an_event(std::string_view why) {
  return Error(ErrorCode::kCorrupt, concat("reading a watch: ", why));
}

}  // namespace

Status WatchDecoder::take(std::string_view bytes) {
  for (;;) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos) return keep(bytes);
    // A line that came in one piece, as nearly all do, is decoded where it lies.
    const std::string_view line = bytes.substr(0, end);
    Status taken;
    if (partial_.empty()) {
      taken = decode(line);
    } else if (taken = keep(line); taken) {
      taken = decode(partial_);
      partial_.clear();
    }
    if (!taken) return taken;
    bytes.remove_prefix(end + 1);
  }
}

Status WatchDecoder::keep(std::string_view bytes) {
  if (bytes.size() > longest_line_ - partial_.size())
    return Error(ErrorCode::kInvalid,
                 concat("reading a watch: an event of more than ", longest_line_, " bytes"));
  partial_ += bytes;
  return {};
}

Status WatchDecoder::decode(std::string_view whole_line) {
  if (trim(whole_line).empty()) return {};
  const std::string_view line = events_.needed(whole_line, room_);
  if (line.empty()) return {};
  const auto parsed = JsonDocument::parse(line, {.bytes = longest_line_});
  if (!parsed) return not_an_event(parsed.error().message());
  const JsonView type = parsed->root()["type"];
  const JsonView object = parsed->root()["object"];
  if (!type.string() || !object.is_object()) return not_an_event("a line without type and object");
  const auto known = type_of(type.text());
  return known ? events_.take({*known, object}) : Status();
}

}  // namespace flexlocal::kube
