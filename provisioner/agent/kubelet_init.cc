#include "provisioner/agent/kubelet_init.h"

#include <utility>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"

namespace flexlocal::provisioner {
namespace {

Error not_called(std::string_view why) { return Error(ErrorCode::kUnavailable, std::string(why)); }

// Short enough for the Lease, which keeps 500 bytes of it. The folders are those of RKE and CoreOS,
// AKS, OpenShift and GKE.
Status check(const Result<engine::InitMark>& mark, std::string_view own_version) {
  if (!mark) return not_called(concat(mark.error().message(), "; remove it, and restart kubelet"));
  if (!*mark)
    return not_called(
        "kubelet has not called the plugin's init: is its --volume-plugin-dir (volumePluginDir) "
        "the folder that the DaemonSet's volume exec names? Usual beside "
        "/usr/libexec/kubernetes/kubelet-plugins/volume/exec are /var/lib/kubelet/volumeplugins, "
        "/etc/kubernetes/volumeplugins, /etc/kubernetes/kubelet-plugins/volume/exec and "
        "/home/kubernetes/flexvolume. If it is, restart kubelet");
  if (**mark == own_version) return {};
  return not_called(concat(
      "kubelet called the plugin's version ", **mark, ", and this daemon is ", own_version,
      ": the daemon pod's init container install replaces the plugin, look at its log, and whether "
      "kubelet's --volume-plugin-dir is the folder that it writes to. If so, restart kubelet"));
}

}  // namespace

InitVerdict judge_init(const Result<engine::InitMark>& mark, std::string_view own_version,
                       std::chrono::nanoseconds waited) {
  InitVerdict verdict{.mark = check(mark, own_version)};
  if (verdict.mark) return verdict;
  verdict.is_late = waited >= kInitExpected;
  verdict.is_lasting = waited >= kInitPatience;
  const bool called = mark.ok() && mark->has_value();
  verdict.is_ready = called || !verdict.is_lasting;
  return verdict;
}

Status KubeletInit::look() {
  const auto now = clock_.now();
  const InitVerdict verdict = judge_init(storage_.init_mark(), version(), now - right_at_);
  if (verdict.mark) right_at_ = now;
  late_.look(verdict.is_late ? verdict.mark : Status(), log_,
             "kubelet does not use this daemon's plugin");
  const bool lasted = std::exchange(lasted_, verdict.is_lasting);
  if (verdict.is_lasting && !lasted)
    events_.record({reference_to(node_), kube::EventType::kWarning, "PluginNotUsed",
                    verdict.mark.error().message()});
  return verdict.is_ready ? Status() : verdict.mark;
}

}  // namespace flexlocal::provisioner
