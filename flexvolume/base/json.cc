#include "flexvolume/base/json.h"

#define RAPIDJSON_HAS_STDSTRING 0
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstring>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

using Value = rapidjson::Value;

const Value& as_value(const void* opaque) { return *static_cast<const Value*>(opaque); }

std::string_view as_text(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

// Whether brackets nest deeper than allowed; strings are stepped over. Whether the text is JSON
// at all is the parser's business.
bool nests_deeper(std::string_view text, std::size_t most) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > most) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// RapidJSON 1.1 looks for the second half of a surrogate pair only where the first one is, and
// writes a second half alone as three bytes that are no UTF-8. A first half alone it refuses.
bool has_lone_low_surrogate(std::string_view text) {
  constexpr std::size_t kEscape = 6;  // "\u" and four digits
  std::size_t at = text.find('\\');
  while (at != std::string_view::npos) {
    const std::string_view escape = text.substr(at, kEscape);
    std::size_t skipped = 2;
    if (escape.size() == kEscape && escape[1] == 'u') {
      const bool surrogate = escape[2] == 'd' || escape[2] == 'D';
      const bool low =
          surrogate && std::string_view("cCdDeEfF").find(escape[3]) != std::string_view::npos;
      const bool high =
          surrogate && std::string_view("89aAbB").find(escape[3]) != std::string_view::npos;
      if (low) return true;
      skipped = high ? 2 * kEscape : kEscape;
    }
    at = text.find('\\', at + skipped);
  }
  return false;
}

// Where the text is no UTF-8 any more; npos: nowhere. RapidJSON can look at this itself, and takes
// twice as long for everything then; nearly all of what is read is ASCII, eight bytes at a time.
std::size_t first_not_utf8(std::string_view text) {
  constexpr std::uint64_t kNotAscii = 0x8080808080808080U;
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = kNotAscii;
    if (text.size() - at >= sizeof eight) std::memcpy(&eight, text.data() + at, sizeof eight);
    const std::size_t length =
        (eight & kNotAscii) == 0 ? sizeof eight : utf8_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

}  // namespace

bool JsonView::is_object() const { return exists() && as_value(value_).IsObject(); }
bool JsonView::is_array() const { return exists() && as_value(value_).IsArray(); }

JsonView JsonView::operator[](std::string_view key) const {
  if (!is_object()) return {};
  const Value name(rapidjson::StringRef(key.data(), static_cast<rapidjson::SizeType>(key.size())));
  const auto found = as_value(value_).FindMember(name);
  return found == as_value(value_).MemberEnd() ? JsonView() : JsonView(&found->value);
}

JsonView JsonView::at(std::size_t index) const {
  if (index >= size()) return {};
  return JsonView(&as_value(value_)[static_cast<rapidjson::SizeType>(index)]);
}

std::size_t JsonView::size() const { return is_array() ? as_value(value_).Size() : 0; }

std::optional<std::string_view> JsonView::string() const {
  if (!exists() || !as_value(value_).IsString()) return std::nullopt;
  return as_text(as_value(value_));
}

std::optional<std::int64_t> JsonView::integer() const {
  if (!exists() || !as_value(value_).IsInt64()) return std::nullopt;
  return as_value(value_).GetInt64();
}

std::optional<bool> JsonView::boolean() const {
  if (!exists() || !as_value(value_).IsBool()) return std::nullopt;
  return as_value(value_).GetBool();
}

std::map<std::string, std::string> JsonView::string_map() const {
  std::map<std::string, std::string> out;
  for_each_member([&](std::string_view key, JsonView value) {
    if (const auto text = value.string()) out.emplace(key, *text);
  });
  return out;
}

std::size_t JsonView::member_count() const {
  return is_object() ? as_value(value_).MemberCount() : 0;
}

std::pair<std::string_view, JsonView> JsonView::member(std::size_t index) const {
  const auto& found = *(as_value(value_).MemberBegin() + static_cast<std::ptrdiff_t>(index));
  return {as_text(found.name), JsonView(&found.value)};
}

std::string JsonView::dump() const {
  if (!exists()) return {};
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  as_value(value_).Accept(writer);
  return {out.GetString(), out.GetSize()};
}

struct JsonDocument::Tree {
  rapidjson::Document document;
};

JsonDocument::JsonDocument(std::unique_ptr<Tree> tree) : tree_(std::move(tree)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

JsonView JsonDocument::root() const {
  return JsonView(static_cast<const Value*>(&tree_->document));
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, JsonLimits limits) {
  if (text.size() > limits.bytes)
    return Error(ErrorCode::kInvalid,
                 concat("JSON of ", text.size(), " bytes; at most ", limits.bytes, " are read"));
  if (nests_deeper(text, limits.depth))
    return Error(ErrorCode::kInvalid, concat("JSON nested deeper than ", limits.depth));
  // To RapidJSON it is the end of the text, so that anything could stand behind it.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
    return Error(ErrorCode::kInvalid, concat("not JSON at byte ", nul, ": a NUL"));
  if (has_lone_low_surrogate(text))
    return Error(ErrorCode::kInvalid, "not JSON: half of a surrogate pair");
  if (const std::size_t bad = first_not_utf8(text); bad != std::string_view::npos)
    return Error(ErrorCode::kInvalid, concat("not JSON at byte ", bad, ": not UTF-8"));
  auto tree = std::make_unique<Tree>();
  tree->document.Parse(text.data(), text.size());
  if (tree->document.HasParseError())
    return Error(ErrorCode::kInvalid,
                 concat("not JSON at byte ", tree->document.GetErrorOffset(), ": ",
                        rapidjson::GetParseError_En(tree->document.GetParseError())));
  return JsonDocument(std::move(tree));
}

struct JsonWriter::State {
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer{out};
};

JsonWriter::JsonWriter() : state_(std::make_unique<State>()) {}
JsonWriter::~JsonWriter() = default;

JsonWriter& JsonWriter::begin_object() {
  state_->writer.StartObject();
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  state_->writer.EndObject();
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  state_->writer.StartArray();
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  state_->writer.EndArray();
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  state_->writer.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
  return *this;
}
JsonWriter& JsonWriter::string(std::string_view value) {
  state_->writer.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  return *this;
}
JsonWriter& JsonWriter::integer(std::int64_t value) {
  state_->writer.Int64(value);
  return *this;
}
JsonWriter& JsonWriter::boolean(bool value) {
  state_->writer.Bool(value);
  return *this;
}
JsonWriter& JsonWriter::null() {
  state_->writer.Null();
  return *this;
}
JsonWriter& JsonWriter::value(JsonView copied) {
  if (!copied.exists()) return null();
  as_value(copied.value_).Accept(state_->writer);
  return *this;
}
JsonWriter& JsonWriter::member(std::string_view name, std::string_view value) {
  return key(name).string(value);
}
std::string JsonWriter::take() { return {state_->out.GetString(), state_->out.GetSize()}; }

}  // namespace flexlocal
