// Carries out on this host what was decided about a copy, one action at a time. Each may be
// repeated after a success, a failure or a kill.
#pragma once

#include <map>
#include <string>

#include "flexvolume/base/log.h"
#include "provisioner/agent/copy_judge.h"
#include "provisioner/agent/copy_plan.h"
#include "provisioner/agent/wipe_progress.h"

namespace flexlocal::provisioner {

// How far an action has come.
struct CopyProgress {
  bool done = true;
  // Of a removal that is not done yet: how much is wiped, and whether that is written to its
  // status.
  Bytes wiped{};
  bool is_worth_a_write = false;
};

class CopyHand {
 public:
  // `gives_up`: whether a promise that cannot be kept is given up. It needs a controller of all
  // nodes, which gives the volume another place: claims/replacement_plan.h.
  CopyHand(Storage& storage, Ledger& ledger, CopyJudge judge, bool gives_up, const Clock& clock,
           Log& log)
      : storage_(storage),
        ledger_(ledger),
        judge_(std::move(judge)),
        gives_up_(gives_up),
        clock_(clock),
        log_(log) {}

  // `copy` has an order. What the ledger knows is true again when it ends, or forgotten.
  Task<Result<CopyProgress>> carry_out(CopyAction action, const VolumeCopy& copy);

  // Whether making that copy failed in a way that another try does not mend. For as long as this
  // process runs: the next one tries once more.
  bool is_hopeless(const std::string& copy) const { return gives_up_ && hopeless_.contains(copy); }
  void forget(const std::string& copy) {
    hopeless_.erase(copy);
    wipes_.erase(copy);
  }

 private:
  Task<Status> promise(const VolumeCopy& copy);
  Task<Status> adopt(const CopyOrder& order);
  Task<Status> follow(const engine::OrderedCopy& ordered);
  Task<Status> make(const VolumeCopy& copy);
  Task<Status> grow(const CopyOrder& order);
  Task<Status> set_retained(const VolumeCopy& copy, engine::Retained retained);
  Task<Result<CopyProgress>> remove(const VolumeCopy& copy);
  Task<Status> withdraw(const CopyOrder& order);
  Task<Status> give_up(const CopyOrder& order);
  engine::VolumeSpec recorded_spec(const CopyOrder& order) const;
  bool is_made(const CopyOrder& order) const;
  void note(std::string_view what, const CopyOrder& order);

  Storage& storage_;
  Ledger& ledger_;
  CopyJudge judge_;
  bool gives_up_;
  const Clock& clock_;
  Log& log_;
  std::map<std::string, ErrorCode> hopeless_;  // by copy
  std::map<std::string, WipeProgress> wipes_;  // by copy
};

}  // namespace flexlocal::provisioner
