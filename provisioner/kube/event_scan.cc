#include "provisioner/kube/event_scan.h"

#include <cstring>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

constexpr unsigned kDeepest = 64;  // as JsonLimits has it

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// What may stand outside of strings and brackets: numbers, true, false, null.
bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '+' || c == '-' || c == '.' ||
         c == 'E';
}

// Goes through one line from the left. Each call steps over what it names, and is false when that
// is not there; after that the scanner is of no further use.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char c) {
    skip_space();
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool at_end() {
    skip_space();
    return at_ == end_;
  }

  // A string without escapes.
  bool plain_string(std::string_view& out) {
    if (!take('"')) return false;
    const char* const begin = at_;
    if (!skip_string()) return false;
    out = {begin, static_cast<std::size_t>(at_ - 1 - begin)};
    return std::memchr(out.data(), '\\', out.size()) == nullptr;
  }

  bool skip_value() {
    skip_space();
    if (at_ == end_) return false;
    if (*at_ == '{' || *at_ == '[') return skip_brackets();
    if (*at_ == '"') {
      ++at_;
      return skip_string();
    }
    const char* const begin = at_;
    while (at_ != end_ && is_plain(*at_)) ++at_;
    return at_ != begin;
  }

  // The same, and where it stands.
  bool value(std::string_view& out) {
    skip_space();
    const char* const begin = at_;
    if (!skip_value()) return false;
    out = {begin, static_cast<std::size_t>(at_ - begin)};
    return true;
  }

  // visit(key) steps over each member's value; an object that it is, or not at all.
  template <typename Visit>
  bool object(Visit visit) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!plain_string(key) || !take(':') || !visit(key)) return false;
    } while (take(','));
    return take('}');
  }

 private:
  void skip_space() {
    while (at_ != end_ && is_space(*at_)) ++at_;
  }

  // From behind the opening quote to behind the closing one.
  bool skip_string() {
    for (;;) {
      const auto left = static_cast<std::size_t>(end_ - at_);
      const auto* const quote = static_cast<const char*>(std::memchr(at_, '"', left));
      if (quote == nullptr) return false;
      const char* backslash = quote;
      while (backslash != at_ && backslash[-1] == '\\') --backslash;
      at_ = quote + 1;
      if ((quote - backslash) % 2 == 0) return true;
    }
  }

  bool skip_brackets() {
    unsigned depth = 0;
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') {
        if (!skip_string()) return false;
      } else if (c == '{' || c == '[') {
        if (++depth > kDeepest) return false;
      } else if (c == '}' || c == ']') {
        if (--depth == 0) return true;
      }
    }
    return false;
  }

  const char* at_;
  const char* end_;
};

// The first value counts in a tree, and a second one is none of ours to judge.
bool once(Scanner& scanner, std::string_view& into) {
  return into.data() == nullptr && scanner.plain_string(into);
}

bool scan_metadata(Scanner& scanner, EventHead& head) {
  return scanner.object([&](std::string_view key) {
    if (key == "name") return once(scanner, head.name);
    if (key == "namespace") return once(scanner, head.namespace_name);
    if (key == "resourceVersion") return once(scanner, head.version);
    if (key == "managedFields") return scanner.value(head.managed_fields);
    return scanner.skip_value();
  });
}

bool scan_members(Scanner& scanner, EventHead& head) {
  bool seen = false;
  return scanner.object([&](std::string_view key) {
    if (key != "metadata") return scanner.skip_value();
    return !std::exchange(seen, true) && scan_metadata(scanner, head);
  });
}

}  // namespace

std::string EventHead::key() const {
  return namespace_name.empty() ? std::string(name) : concat(namespace_name, '/', name);
}

std::optional<EventHead> scan_event(std::string_view line) {
  Scanner scanner(line);
  EventHead head;
  bool has_object = false;
  const bool whole = scanner.object([&](std::string_view key) {
    if (key == "type") return once(scanner, head.type);
    if (key != "object") return scanner.skip_value();
    return !std::exchange(has_object, true) && scan_members(scanner, head);
  });
  if (!whole || !scanner.at_end() || head.name.empty() || head.version.empty()) return std::nullopt;
  return head;
}

std::optional<EventHead> scan_object(std::string_view text) {
  Scanner scanner(text);
  EventHead head;
  const bool whole = scan_members(scanner, head);
  if (!whole || !scanner.at_end() || head.name.empty() || head.version.empty()) return std::nullopt;
  return head;
}

}  // namespace flexlocal::kube
