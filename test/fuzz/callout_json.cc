// The JSON of a mount call: what any pod's author can put before a program that runs as root.
#include <cstdlib>

#include "flexvolume/base/json.h"
#include "flexvolume/callout.h"
#include "flexvolume/protocol.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

class NoNode final : public plugin::Node {
 public:
  Result<engine::Engine*> engine() override {
    return Error(ErrorCode::kNotFound, "there is no node here");
  }
  // Of what is tried here nothing unmounts.
  engine::Engine& engine_for_unmount() override { std::abort(); }
  Status leave_init_mark() override { std::abort(); }
};

class NoLog final : public Log {
 public:
  void write(LogLevel level, std::string_view message,
             std::initializer_list<LogField> fields) override {
    const std::string line = format_log_line(level, message, fields);
    require(line.find('\n') == std::string::npos, "a log line is one line");
  }
};

std::string written(const engine::Options& options) {
  JsonWriter json;
  json.begin_object();
  for (const auto& [key, value] : options) json.member(key, value);
  json.end_object();
  return json.take();
}

void check_options(const engine::Options& options) {
  require(options.size() <= 1000, "at most 1000 keys are taken");
  for (const auto& [key, value] : options)
    require(key.find('\0') == std::string::npos && value.find('\0') == std::string::npos,
            "no NUL is taken");
  const auto again = plugin::parse_call_options(written(options));
  require(again.ok() && *again == options, "options that are written read back as themselves");
}

void check_call(const engine::Options& options, const engine::VolumeCall& call) {
  require(engine::is_copy_id(call.copy), "a call that is taken names a copy");
  std::size_t ours = 0;
  for (const auto& [key, value] : options)
    if (key.starts_with("flexlocal.io/")) ++ours;
  require(ours == 1, "no option is taken beside the copy");
  const auto name = engine::VolumeName::parse(call.name.text());
  require(name.ok(), "a call that is taken names a claim's volume");
}

void check_answer(std::string_view json) {
  NoNode node;
  NoLog log;
  const std::string folder =
      "/var/lib/kubelet/pods/1/volumes/flexlocal.io~flexlocal/"
      "pvc-0b1c2d3e-0000-4000-8000-00000000000a";
  const plugin::Answer answer = plugin::call_out({"mount", folder, std::string(json)}, node, log);
  const auto document = JsonDocument::parse(answer.json, {.bytes = 4096, .depth = 2});
  require(document.ok() && document->root().is_object(), "the answer is one short JSON object");
  require(document->root()["status"].text() == "Failure" && answer.exit_code != 0,
          "without a node the answer is Failure");
  require(answer.json.find('\n') == std::string::npos, "the answer is one line");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string_view json = fuzz::as_text(data, size);
  fuzz::check_answer(json);
  const auto options = plugin::parse_call_options(json);
  if (!options) return 0;
  fuzz::require(json.find('\0') == std::string_view::npos, "nothing hides behind a NUL");
  fuzz::check_options(*options);
  if (const auto call = engine::parse_options(*options)) fuzz::check_call(*options, *call);
  return 0;
}
