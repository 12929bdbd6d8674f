#include "flexvolume/callout.h"

#include <chrono>

#include "flexvolume/base/text.h"

namespace flexlocal::plugin {
namespace {

using Arguments = std::vector<std::string>;

Error wrong_count(std::string_view usage) {
  return Error(ErrorCode::kInvalid, concat("wrong number of arguments; usage: flexlocal ", usage));
}

std::string option(const engine::Options& options, std::string_view key) {
  const auto found = options.find(std::string(key));
  return found == options.end() ? std::string() : found->second;
}

Result<engine::MountRequest> parse_mount(const Arguments& arguments) {
  if (arguments.size() != 3) return wrong_count("mount <folder> <json>");
  const auto options = parse_call_options(arguments[2]);
  if (!options) return options.error();
  auto spec = engine::parse_options(*options);
  if (!spec) return spec.error();
  const std::string access = option(*options, engine::kKubeletReadWrite);
  if (!access.empty() && access != "rw" && access != "ro")
    return Error(ErrorCode::kInvalid,
                 concat("option ", engine::kKubeletReadWrite, " is neither rw nor ro"));
  return engine::MountRequest{.spec = std::move(*spec),
                              .grant = option(*options, engine::kGrantKey),
                              .folder = arguments[1],
                              .pod_namespace = option(*options, engine::kKubeletPodNamespace),
                              .pod_uid = option(*options, engine::kKubeletPodUid),
                              .read_only = access == "ro"};
}

Result<Bytes> parse_size(const std::string& text, std::string_view what) {
  unsigned long long count = 0;
  if (parse_number(text, kMostBytes.count(), count)) return Bytes(count);
  return Error(ErrorCode::kInvalid, concat("the ", what, " size is \"", printable(text, 40),
                                           "\", which is not a number of bytes"));
}

// kubelet: expandfs <json> <device, empty for us> <mount folder> <new bytes> <old bytes>
// (pkg/volume/flexvolume/expander.go). The folder is not used: the volume is found by its name.
Result<engine::GrowRequest> parse_expand(const Arguments& arguments) {
  if (arguments.size() != 6)
    return wrong_count("expandfs <json> <device> <folder> <new bytes> <old bytes>");
  const auto options = parse_call_options(arguments[1]);
  if (!options) return options.error();
  auto spec = engine::parse_options(*options);
  if (!spec) return spec.error();
  const auto size = parse_size(arguments[4], "new");
  if (!size) return size.error();
  const auto before = parse_size(arguments[5], "old");
  if (!before) return before.error();
  if (*size < *before)
    return Error(ErrorCode::kInvalid, concat("a volume cannot shrink, from ", to_string(*before),
                                             " to ", to_string(*size)));
  return engine::GrowRequest{std::move(*spec), option(*options, engine::kGrantKey), *size};
}

struct Outcome {
  Status status;
  std::string volume;
  std::string pod_namespace;
};

Outcome mount(const Arguments& arguments, Node& node) {
  const auto request = parse_mount(arguments);
  if (!request) return {request.error(), {}, {}};
  Outcome outcome{{}, request->spec.name.text(), request->pod_namespace};
  auto engine = node.engine();
  outcome.status = engine ? (*engine)->mount(*request) : engine.error();
  return outcome;
}

Outcome unmount(const Arguments& arguments, Node& node) {
  if (arguments.size() != 2) return {wrong_count("unmount <folder>"), {}, {}};
  auto engine = node.engine();
  const std::size_t slash = arguments[1].rfind('/');
  return {engine ? (*engine)->unmount(arguments[1]) : engine.error(),
          slash == std::string::npos ? std::string() : arguments[1].substr(slash + 1),
          {}};
}

Outcome expand(const Arguments& arguments, Node& node) {
  const auto request = parse_expand(arguments);
  if (!request) return {request.error(), {}, {}};
  auto engine = node.engine();
  return {engine ? (*engine)->grow(*request) : engine.error(), request->spec.name.text(),
          request->spec.claim_namespace};
}

void log_outcome(Log& log, const std::string& call, const Outcome& outcome,
                 std::chrono::steady_clock::time_point start) {
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string millis =
      concat(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  if (outcome.status)
    log.info("call done", {{"callout", call},
                           {"volume", outcome.volume},
                           {"namespace", outcome.pod_namespace},
                           {"duration_ms", millis}});
  else
    log.error("call failed", {{"callout", call},
                              {"volume", outcome.volume},
                              {"namespace", outcome.pod_namespace},
                              {"duration_ms", millis},
                              {"code", to_string(outcome.status.error().code())},
                              {"error", outcome.status.error().message()}});
}

}  // namespace

Answer call_out(const Arguments& arguments, Node& node, Log& log) {
  if (arguments.empty())
    return failure(
        Error(ErrorCode::kInvalid, "no call; kubelet calls flexlocal init, mount or unmount"));
  const std::string& call = arguments[0];
  if (call == "init") return init_answer();
  const auto carry_out = call == "mount"      ? mount
                         : call == "unmount"  ? unmount
                         : call == "expandfs" ? expand
                                              : nullptr;
  if (carry_out == nullptr) return not_supported(call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = carry_out(arguments, node);
  log_outcome(log, call, outcome, start);
  return outcome.status ? success() : failure(outcome.status.error());
}

}  // namespace flexlocal::plugin
