// JSON, read and written. RapidJSON does the work and stays in json.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flexvolume/base/result.h"

namespace flexlocal {

// Looks at one value of a JsonDocument, which must outlive it. A value that is missing, or of
// another type, reads as absent: `object["spec"]["nodeName"].text()` never fails half-way.
class JsonView {
 public:
  JsonView() = default;

  bool exists() const { return value_ != nullptr; }
  bool is_object() const;
  bool is_array() const;

  JsonView operator[](std::string_view key) const;  // of an object
  JsonView at(std::size_t index) const;             // of an array
  std::size_t size() const;                         // of an array; else 0

  std::optional<std::string_view> string() const;
  std::string_view text() const { return string().value_or(std::string_view()); }
  std::optional<std::int64_t> integer() const;
  std::optional<bool> boolean() const;

  // visit(key, value) for each member of an object, in the document's order.
  template <typename Visit>
  void for_each_member(Visit visit) const {
    for (std::size_t i = 0; i < member_count(); ++i) {
      const auto [key, value] = member(i);
      visit(key, value);
    }
  }

  // The members that are strings, as labels and annotations are.
  std::map<std::string, std::string> string_map() const;

  // This value as JSON text.
  std::string dump() const;

 private:
  friend class JsonDocument;
  friend class JsonWriter;
  explicit JsonView(const void* value) : value_(value) {}
  std::size_t member_count() const;
  std::pair<std::string_view, JsonView> member(std::size_t index) const;

  const void* value_ = nullptr;
};

struct JsonLimits {
  std::size_t bytes = 64U << 20U;
  std::size_t depth = 64;
};

class JsonDocument {
 public:
  // One JSON value and nothing behind it, valid UTF-8. kInvalid, with the place, on anything
  // else and on what is over a limit: input may be hostile, so nesting is counted before a tree
  // is built.
  static Result<JsonDocument> parse(std::string_view text, JsonLimits limits = {});

  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonView root() const;

 private:
  struct Tree;
  explicit JsonDocument(std::unique_ptr<Tree> tree);
  std::unique_ptr<Tree> tree_;
};

// Writes one compact value. Calls follow the value's shape; a shape that is not JSON is a bug.
class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view value);
  JsonWriter& integer(std::int64_t value);
  JsonWriter& boolean(bool value);
  JsonWriter& null();
  JsonWriter& value(JsonView copied);

  // key and value in one
  JsonWriter& member(std::string_view name, std::string_view value);

  // The text so far; complete once every object and array is closed.
  std::string take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace flexlocal
