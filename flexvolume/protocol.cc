#include "flexvolume/protocol.h"

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::plugin {
namespace {

// One argument of execve(2) holds no more (MAX_ARG_STRLEN).
constexpr JsonLimits kLimits{.bytes = 128U << 10U, .depth = 1};
constexpr std::size_t kMostKeys = 1000;

std::string answer_json(std::string_view status, std::string_view message) {
  JsonWriter writer;
  writer.begin_object().member("status", status);
  if (!message.empty()) writer.member("message", printable(message, 2000));
  writer.end_object();
  return writer.take();
}

Error invalid(std::string_view why) {
  return Error(ErrorCode::kInvalid, concat("the call's options: ", why));
}

}  // namespace

Answer success(std::string_view message) { return {answer_json("Success", message), 0}; }

Answer failure(const Error& error) { return {answer_json("Failure", error.message()), 1}; }

Answer not_supported(std::string_view call) {
  return {
      answer_json("Not supported", concat("flexlocal does not do \"", printable(call, 40), '"')),
      1};
}

// requiresFSResize is false: kubelet would call expandfs as soon as the expand controller has
// raised the capacity, which it does unasked, and take room that other claims were promised; and
// where there is none, the pod would not start. The node daemon grows volumes, by the claim.
Answer init_answer() {
  return {
      R"({"status":"Success","capabilities":{"attach":false,"fsGroup":true,"requiresFSResize":false,)"
      R"("selinuxRelabel":true,"supportsMetrics":true}})",
      0};
}

Result<engine::Options> parse_call_options(std::string_view json) {
  const auto document = JsonDocument::parse(json, kLimits);
  if (!document) return invalid(document.error().message());
  if (!document->root().is_object()) return invalid("not a JSON object");
  engine::Options options;
  const char* wrong = nullptr;
  document->root().for_each_member([&](std::string_view key, JsonView value) {
    const auto text = value.string();
    if (!text)
      wrong = "a value is not a string";
    else if (key.find('\0') != std::string_view::npos || text->find('\0') != std::string_view::npos)
      wrong = "a key or value holds a NUL";
    else if (options.size() >= kMostKeys)
      wrong = "more than 1000 keys";
    else if (!options.emplace(key, *text).second)
      wrong = "a key stands there twice";
  });
  if (wrong != nullptr) return invalid(wrong);
  return options;
}

}  // namespace flexlocal::plugin
