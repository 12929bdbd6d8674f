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
  auto volume = engine::parse_options(options);
  if (!volume) return volume.error();
  const std::string access = option_of(options, engine::kKubeletReadWrite);
  if (!access.empty() && access != "rw" && access != "ro")
    return Error(ErrorCode::kInvalid,
                 concat("option ", engine::kKubeletReadWrite, " is neither rw nor ro"));
  return engine::MountRequest{.volume = std::move(*volume),
                              .folder = folder,
                              .pod_namespace = option_of(options, engine::kKubeletPodNamespace),
                              .pod_uid = option_of(options, engine::kKubeletPodUid),
                              .read_only = access == "ro",
                              .pod_name = option_of(options, engine::kKubeletPodName)};
}

Result<Bytes> parse_size(const std::string& text, std::string_view what) {
  unsigned long long count = 0;
  if (parse_number(text, kMostBytes.count(), count)) return Bytes(count);
  return Error(ErrorCode::kInvalid, concat("the ", what, " size is \"", printable(text, 40),
                                           "\", which is not a number of bytes"));
}

// kubelet: expandfs <json> <device, empty for us> <mount folder> <new bytes> <old bytes>
// (pkg/volume/flexvolume/expander.go). The folder is not used: the volume is found by its name.
Result<engine::GrowRequest> parse_expand(const engine::Options& options,
                                         const Arguments& arguments) {
  auto volume = engine::parse_options(options);
  if (!volume) return volume.error();
  const auto size = parse_size(arguments[4], "new");
  if (!size) return size.error();
  const auto before = parse_size(arguments[5], "old");
  if (!before) return before.error();
  if (*size < *before)
    return Error(ErrorCode::kInvalid, concat("a volume cannot shrink, from ", to_string(*before),
                                             " to ", to_string(*size)));
  return engine::GrowRequest{std::move(*volume), *size};
}

// Whom a call is for, as far as the caller says it: not checked, for the log only.
struct Subject {
  std::string volume;
  std::string pod;
  std::string pod_uid;
  std::string pod_namespace;
};

// "<kubelet dir>/pods/<pod uid>/volumes/flexlocal.io~flexlocal/<volume>": all that `unmount` knows.
Subject subject_of(std::string_view folder) {
  Subject subject;
  const auto parts = split(folder, '/');
  if (!parts.empty()) subject.volume = parts.back();
  if (parts.size() > 5 && parts[parts.size() - 5] == "pods")
    subject.pod_uid = parts[parts.size() - 4];
  return subject;
}

// What other calls are told besides; a forged call is logged with what it claims.
void add_options(Subject& subject, const engine::Options& options) {
  const auto replace = [&](std::string& field, std::string_view key) {
    if (std::string value = option_of(options, key); !value.empty()) field = std::move(value);
  };
  replace(subject.volume, engine::kKubeletVolumeName);
  replace(subject.pod, engine::kKubeletPodName);
  replace(subject.pod_uid, engine::kKubeletPodUid);
  replace(subject.pod_namespace, engine::kKubeletPodNamespace);
}

// Without an answer of success kubelet has no driver at all, so a mark that cannot be left is
// logged and nothing else: the node daemon misses it, and says so.
Answer init(Node& node, Log& log) {
  if (const Status left = node.leave_init_mark(); !left)
    log.warning("init could not leave its mark for the node daemon",
                {{"error", left.error().message()}});
  return init_answer();
}

// Each call fills in `subject` as soon as it knows it, so that a refusal is logged with it.
Status mount(const Arguments& arguments, Node& node, Subject& subject) {
  if (arguments.size() > 1) subject = subject_of(arguments[1]);
  if (arguments.size() != 3) return wrong_count("mount <folder> <json>");
  const auto options = parse_call_options(arguments[2]);
  if (!options) return options.error();
  add_options(subject, *options);
  const auto request = parse_mount(*options, arguments[1]);
  if (!request) return request.error();
  auto engine = node.engine();
  return engine ? (*engine)->mount(*request) : engine.error();
}

Status unmount(const Arguments& arguments, Node& node, Subject& subject) {
  if (arguments.size() > 1) subject = subject_of(arguments[1]);
  if (arguments.size() != 2) return wrong_count("unmount <folder>");
  return node.engine_for_unmount().unmount(arguments[1]);
}

Status expand(const Arguments& arguments, Node& node, Subject& subject) {
  if (arguments.size() > 3) subject = subject_of(arguments[3]);
  if (arguments.size() != 6)
    return wrong_count("expandfs <json> <device> <folder> <new bytes> <old bytes>");
  const auto options = parse_call_options(arguments[1]);
  if (!options) return options.error();
  add_options(subject, *options);
  const auto request = parse_expand(*options, arguments);
  if (!request) return request.error();
  auto engine = node.engine();
  return engine ? (*engine)->grow(*request) : engine.error();
}

void log_outcome(Log& log, const std::string& call, const Subject& subject, const Status& status,
                 std::chrono::steady_clock::time_point start) {
  const auto took = std::chrono::steady_clock::now() - start;
  const std::string millis =
      concat(std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
  // Whoever writes an inline volume chooses these: they are cut and made printable.
  const std::string volume = printable(subject.volume);
  const std::string pod = printable(subject.pod);
  const std::string pod_uid = printable(subject.pod_uid);
  const std::string pod_namespace = printable(subject.pod_namespace);
  if (status)
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
                              {"code", to_string(status.error().code())},
                              {"error", status.error().message()}});
}

using Call = Status (*)(const Arguments& arguments, Node& node, Subject& subject);

Call call_named(std::string_view name) {
  if (name == "mount") return mount;
  if (name == "unmount") return unmount;
  if (name == "expandfs") return expand;
  return nullptr;
}

}  // namespace

Answer call_out(const Arguments& arguments, Node& node, Log& log) {
  if (arguments.empty())
    return failure(
        Error(ErrorCode::kInvalid, "no call; kubelet calls flexlocal init, mount or unmount"));
  const std::string& name = arguments[0];
  if (name == "init") return init(node, log);
  const Call call = call_named(name);
  if (call == nullptr) return not_supported(name);
  const auto start = std::chrono::steady_clock::now();
  Subject subject;
  const Status status = call(arguments, node, subject);
  log_outcome(log, name, subject, status, start);
  return status ? success() : failure(status.error());
}

}  // namespace flexlocal::plugin
