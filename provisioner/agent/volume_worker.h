// Carries out the plan for a volume that is on its way out.
#pragma once

#include <map>
#include <string>

#include "provisioner/agent/node_parts.h"
#include "provisioner/agent/wipe_progress.h"
#include "provisioner/controller/reclaim/reclaim_plan.h"

namespace flexlocal::provisioner {

class VolumeWorker {
 public:
  explicit VolumeWorker(NodeParts& parts) : parts_(parts) {}

  // One pass over the PersistentVolume of that name: of a long wipe, one slice of seconds. An Error
  // means: again, after a pause.
  Task<Result<Pass>> work(const std::string& name);

 private:
  Task<Result<Pass>> remove(const Volume& volume);
  Task<Result<std::optional<Volume>>> read_again(const Volume& volume);
  Task<Result<std::optional<Volume>>> fetch(const Volume& volume);
  Task<Result<engine::Removal>> take_back(const Volume& volume);
  void count(const Volume& volume, const Status& gone);
  Task<Status> let_go(const Volume& volume);
  Task<Status> retain(const Volume& volume);
  bool is_retained(const Volume& volume) const;
  Task<Status> take_up(const Volume& known);
  bool is_promised(const Volume& volume) const;
  Task<Status> promise_as_stated(const Volume& volume);
  bool needs_claim(const Volume& volume) const;
  Task<Status> record_claim(const Volume& volume);
  Task<Status> drop_finalizer(const Volume& volume);
  Task<Status> drop_finalizer_anew(const Volume& volume);
  void tell_progress(const Volume& volume, const engine::Removal& removal);
  void tell_of_stopped_wipe(const Volume& volume);
  void say(const Volume& volume, kube::EventType type, std::string_view reason,
           const std::string& message);

  NodeParts& parts_;
  std::map<std::string, WipeProgress> wipes_;    // by volume
  std::map<std::string, Clock::Instant> began_;  // when its removal was begun, by volume
};

}  // namespace flexlocal::provisioner
