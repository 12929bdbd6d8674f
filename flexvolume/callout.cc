#include "flexvolume/callout.h"

#include <chrono>

#include "flexvolume/base/text.h"

namespace flexlocal::plugin {
namespace {

using Arguments = std::vector<std::string>;

Error wrong_count(std::string_view usage) {
  return Error(ErrorCode::kInvalid, concat("wrong number of arguments; usage: flexlocal ", usage));
}

std::string option_of(const engine::Options& options, std::string_view key) {
  const auto found = options.find(std::string(key));
  return found == options.end() ? std::string() : found->second;
}

Result<engine::MountRequest> parse_mount(const engine::Options& options,
                                         const std::string& folder) {
  auto spec = engine::parse_options(options);
  if (!spec) return spec.error();
  const std::string access = option_of(options, engine::kKubeletReadWrite);
  if (!access.empty() && access != "rw" && access != "ro")
    return Error(ErrorCode::kInvalid,
                 concat("option ", engine::kKubeletReadWrite, " is neither rw nor ro"));
  return engine::MountRequest{.spec = std::move(*spec),
                              .grant = option_of(options, engine::kGrantKey),
                              .folder = folder,
                              .pod_namespace = option_of(options, engine::kKubeletPodNamespace),
                              .pod_uid = option_of(options, engine::kKubeletPodUid),
                              .read_only = access == "ro"};
}

// Whom a call is for, as far as the caller says it: not checked, for the log only.
struct Subject {
  std::string volume;
  std::string pod;
  std::string pod_uid;
  std::string pod_namespace;
};

// "<kubelet dir>/pods/<pod uid>/volumes/flexlocal.io~flexlocal/<volume>": all that `unmount` knows.
Subject subject_of(const Arguments& arguments) {
  Subject subject;
  if (arguments.size() < 2) return subject;
  const auto parts = split(arguments[1], '/');
  if (!parts.empty()) subject.volume = parts.back();
  if (parts.size() > 5 && parts[parts.size() - 5] == "pods")
    subject.pod_uid = parts[parts.size() - 4];
  return subject;
}

// What `mount` is told besides; a forged call is logged with what it claims.
void add_options(Subject& subject, const engine::Options& options) {
  const auto replace = [&](std::string& field, std::string_view key) {
    if (std::string value = option_of(options, key); !value.empty()) field = std::move(value);
  };
  replace(subject.volume, engine::kKubeletVolumeName);
  replace(subject.pod, engine::kKubeletPodName);
  replace(subject.pod_uid, engine::kKubeletPodUid);
  replace(subject.pod_namespace, engine::kKubeletPodNamespace);
}

struct Outcome {
  Subject subject;
  Status status;
};

Outcome mount(const Arguments& arguments, Node& node) {
  Outcome outcome{subject_of(arguments), {}};
  if (arguments.size() != 3) {
    outcome.status = wrong_count("mount <folder> <json>");
    return outcome;
  }
  const auto options = parse_call_options(arguments[2]);
  if (!options) {
    outcome.status = options.error();
    return outcome;
  }
  add_options(outcome.subject, *options);
  const auto request = parse_mount(*options, arguments[1]);
  if (!request) {
    outcome.status = request.error();
    return outcome;
  }
  auto engine = node.engine();
  outcome.status = engine ? (*engine)->mount(*request) : engine.error();
  return outcome;
}

Outcome unmount(const Arguments& arguments, Node& node) {
  Outcome outcome{subject_of(arguments), {}};
  if (arguments.size() != 2) {
    outcome.status = wrong_count("unmount <folder>");
    return outcome;
  }
  auto engine = node.engine();
  outcome.status = engine ? (*engine)->unmount(arguments[1]) : engine.error();
  return outcome;
}

void log_outcome(Log& log, const std::string& call, const Outcome& outcome,
                 std::chrono::steady_clock::time_point start) {
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string millis =
      concat(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  // Whoever writes an inline volume chooses these: they are cut and made printable.
  const std::string volume = printable(outcome.subject.volume);
  const std::string pod = printable(outcome.subject.pod);
  const std::string pod_uid = printable(outcome.subject.pod_uid);
  const std::string pod_namespace = printable(outcome.subject.pod_namespace);
  if (outcome.status)
    log.info("call done", {{"volume", volume},
                           {"pod", pod},
                           {"pod_uid", pod_uid},
                           {"namespace", pod_namespace},
                           {"callout", call},
                           {"duration_ms", millis}});
  else
    log.error("call failed", {{"volume", volume},
                              {"pod", pod},
                              {"pod_uid", pod_uid},
                              {"namespace", pod_namespace},
                              {"callout", call},
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
