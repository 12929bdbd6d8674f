#include "flexvolume/callout.h"

#include <chrono>

#include "flexvolume/base/text.h"

namespace flexlocal::plugin {
namespace {

using Arguments = std::vector<std::string>;

Error wrong_count(std::string_view usage) {
  return Error(ErrorCode::kInvalid, concat("wrong number of arguments; usage: flexlocal ", usage));
}

Result<engine::MountRequest> parse_mount(const Arguments& arguments) {
  if (arguments.size() != 3) return wrong_count("mount <folder> <json>");
  const auto options = parse_call_options(arguments[2]);
  if (!options) return options.error();
  auto spec = engine::parse_options(*options);
  if (!spec) return spec.error();
  const auto option = [&](std::string_view key) {
    const auto found = options->find(std::string(key));
    return found == options->end() ? std::string() : found->second;
  };
  const std::string access = option(engine::kKubeletReadWrite);
  if (!access.empty() && access != "rw" && access != "ro")
    return Error(ErrorCode::kInvalid,
                 concat("option ", engine::kKubeletReadWrite, " is neither rw nor ro"));
  return engine::MountRequest{.spec = std::move(*spec),
                              .grant = option(engine::kGrantKey),
                              .folder = arguments[1],
                              .pod_namespace = option(engine::kKubeletPodNamespace),
                              .pod_uid = option(engine::kKubeletPodUid),
                              .read_only = access == "ro"};
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
  if (call != "mount" && call != "unmount") return not_supported(call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = call == "mount" ? mount(arguments, node) : unmount(arguments, node);
  log_outcome(log, call, outcome, start);
  return outcome.status ? success() : failure(outcome.status.error());
}

}  // namespace flexlocal::plugin
