#include "provisioner/kube/list_decoder.h"

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr std::string_view kItems = "items";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

Error too_long(std::string_view what, std::size_t most, ErrorCode code = ErrorCode::kInvalid) {
  return Error(code, concat("reading a list: ", what, " of more than ", most, " bytes"));
}

}  // namespace

Status ListDecoder::take(std::string_view bytes) {
  if (bytes.size() > limits_.whole - taken_)
    return too_long("an answer", limits_.whole, ErrorCode::kNoSpace);
  taken_ += bytes.size();
  while (!bytes.empty()) {
    if (place_ == Place::kItem) {
      const auto used = item(bytes);
      if (!used) return used.error();
      bytes.remove_prefix(*used);
      continue;
    }
    // Stays where it is when an object begins: its first byte belongs to the object.
    const bool begins = bytes.front() == '{' && place_ != Place::kShell;
    Status taken = place_ == Place::kShell ? shell(bytes.front()) : between(bytes.front());
    if (!taken) return taken;
    if (!begins) bytes.remove_prefix(1);
  }
  return {};
}

// Of the outermost object's members the keys are looked at. A value that reads "items" does no
// harm: no bracket can follow it before the next key.
Status ListDecoder::shell(char c) {
  if (shell_.size() >= limits_.shell) return too_long("what is not an item", limits_.shell);
  shell_ += c;
  const bool was_in_string = in_string_;
  const bool opens_items = c == '[' && depth_ == 1 && !in_string_ && key_ == kItems;
  step(c);
  if (opens_items) {
    place_ = Place::kFirst;
    return {};
  }
  if (depth_ != 1) return {};
  if (in_string_ && !was_in_string)
    key_.clear();
  else if (in_string_ && key_.size() <= kItems.size())
    key_ += c;
  return {};
}

Status ListDecoder::between(char c) {
  if (is_space(c)) return {};
  const bool object_may_come = place_ == Place::kFirst || place_ == Place::kNext;
  if (c == '{' && object_may_come) {
    place_ = Place::kItem;
    depth_ = 0;
  } else if (c == ',' && place_ == Place::kSeparator) {
    place_ = Place::kNext;
  } else if (c == ']' && place_ != Place::kNext) {
    place_ = Place::kShell;
    shell_ += c;
    key_.clear();
    depth_ = 1;
  } else {
    return Error(ErrorCode::kCorrupt, "reading a list: items that are not a list of objects");
  }
  return {};
}

// How many of the bytes belong to the object.
Result<std::size_t> ListDecoder::item(std::string_view bytes) {
  std::size_t end = 0;
  bool whole = false;
  while (end < bytes.size() && !whole) whole = step(bytes[end++]);
  const std::string_view piece = bytes.substr(0, end);
  if (piece.size() > limits_.item - item_.size()) return too_long("an object", limits_.item);
  if (!whole) {
    item_ += piece;
    return end;
  }
  place_ = Place::kSeparator;
  // One that came in one piece, as nearly all do, is decoded where it lies.
  if (item_.empty()) {
    if (const Status taken = items_.take(piece); !taken) return taken.error();
    return end;
  }
  item_ += piece;
  if (const Status taken = items_.take(item_); !taken) return taken.error();
  item_.clear();
  return end;
}

// Whether the byte closes the outermost bracket.
bool ListDecoder::step(char c) {
  if (in_string_) {
    if (escaped_)
      escaped_ = false;
    else if (c == '\\')
      escaped_ = true;
    else if (c == '"')
      in_string_ = false;
    return false;
  }
  if (c == '"') {
    in_string_ = true;
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if ((c == '}' || c == ']') && depth_ > 0) {
    return --depth_ == 0;
  }
  return false;
}

Result<JsonDocument> ListDecoder::finish() const {
  if (place_ != Place::kShell)
    return Error(ErrorCode::kInvalid, "reading a list: it ends in the middle");
  auto parsed = JsonDocument::parse(shell_);
  if (!parsed) return parsed.error().context("reading a list");
  return parsed;
}

}  // namespace flexlocal::kube
