// Whether kubelet uses the plugin that belongs to this daemon, by the mark that the plugin's `init`
// leaves. A node whose kubelet looks in another folder is no place for new volumes: their pods
// would wait for a mount that never comes.
#pragma once

#include <chrono>
#include <string_view>

#include "flexvolume/base/clock.h"
#include "flexvolume/base/log.h"
#include "flexvolume/engine/volume/init_mark.h"
#include "provisioner/agent/storage.h"
#include "provisioner/kube/events.h"
#include "provisioner/objects/node_object.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

// kubelet calls `init` when it starts, and when a program is new or replaced, the next time that it
// looks at the volumes of any pod. That is when a container starts, the daemon's own for one, and
// with each round of its --sync-frequency, a minute to a minute and a half.
// (refreshProbedPlugins() in pkg/volume/plugins.go, by ReprocessPod() of each pod that is synced.)
inline constexpr std::chrono::seconds kInitExpected{30};
inline constexpr std::chrono::minutes kInitPatience{5};

struct InitVerdict {
  Status mark;              // what is wrong with it, and what to do
  bool is_late = false;     // it has been so for kInitExpected
  bool is_lasting = false;  // it has been so for kInitPatience
  // A mark of another version lets a node work: kubelet runs the program by its path, and may not
  // have noticed that it was replaced, where inotify's watches are used up say.
  bool is_ready = true;
};

// `waited`: since the mark was right, or since the daemon's start.
InitVerdict judge_init(const Result<engine::InitMark>& mark, std::string_view own_version,
                       std::chrono::nanoseconds waited);

class KubeletInit {
 public:
  // The mark is waited for from now on.
  KubeletInit(const Storage& storage, kube::EventRecorder& events, const Clock& clock, Log& log,
              NodeIdentity node)
      : storage_(storage),
        events_(events),
        clock_(clock),
        log_(log),
        node_(std::move(node)),
        right_at_(clock.now()) {}

  // Reads the mark. kUnavailable, in words, when there has been none for kInitPatience. A warning
  // is logged when the right one is late, and an event on the Node recorded after kInitPatience:
  // each once for as long as it lasts.
  Status look();

 private:
  const Storage& storage_;
  kube::EventRecorder& events_;
  const Clock& clock_;
  Log& log_;
  NodeIdentity node_;
  Clock::Instant right_at_;
  LastingTrouble late_;
  bool lasted_ = false;
};

}  // namespace flexlocal::provisioner
