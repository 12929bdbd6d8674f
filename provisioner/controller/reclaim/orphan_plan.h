// Which of this node's volumes nobody stands for any more: a pure decision over time.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "flexvolume/base/clock.h"
#include "flexvolume/engine/engine.h"
#include "provisioner/controller/reclaim/orphan_policy.h"

namespace flexlocal::provisioner {

// A logical volume, or a quota folder, of this cluster in one of this node's pools.
struct Suspect {
  engine::VolumeSpec spec;  // as its tags, or its mark, say
  std::string group;        // of a folder: its pool
  std::string uuid;         // of a folder: its project's id
  Bytes size;               // what it takes now

  const std::string& name() const { return spec.name.text(); }
  bool is_folder() const { return spec.backend == engine::Backend::kQuota; }
  std::string place() const { return group + '/' + name(); }
};

// Those of the inventory's volumes that could be orphans at all. Never considered: another
// cluster's, one without all our tags, one that is named otherwise than its tags say, one outside
// the pool that its tags name, one that the policy Retain keeps.
std::vector<Suspect> suspects_in(const engine::Inventory& inventory,
                                 const engine::NodeConfig& config, const std::string& cluster_id);

// One look: the disks first, then the API server, so that a volume whose PersistentVolume is there
// is never taken for one without.
struct OrphanSweep {
  std::vector<Suspect> suspects;
  std::set<std::string> volumes;     // every PersistentVolume of this node, from a complete list
  std::set<std::string> claim_uids;  // of all claims that are known
  Clock::Instant now;
};

enum class OrphanAction {
  kTellClaim,  // its claim lives: the data stays, and the claim should know
  kReport,
  kReportOnly,  // to be deleted, but the list of PersistentVolumes is empty: that is suspicious
  kRemove
};

struct OrphanStep {
  OrphanAction action;
  Suspect suspect;
};

// Remembers what has been seen, look by look. A volume is an orphan when two complete lists in a
// row did not have its PersistentVolume and `grace` has passed since the first of them; the time
// begins anew when the PersistentVolume is seen, when the volume is another one of the same name,
// and as long as a claim with its uid exists.
class OrphanRegister {
 public:
  OrphanRegister(OrphanPolicy policy, std::chrono::nanoseconds grace)
      : policy_(policy), grace_(grace) {}

  // What is to be done after this look. A look that failed in any part is no look: it is not to be
  // given to this. Steps other than kRemove come again until done() says that they were taken.
  std::vector<OrphanStep> sweep(const OrphanSweep& look);
  void done(const OrphanStep& step);

  // How many volumes are orphans, as far as the last look goes.
  std::size_t orphans() const { return orphans_; }

 private:
  struct Known {
    std::string uuid;
    Clock::Instant since;
    unsigned lists = 0;
    bool told_claim = false;
    bool reported = false;
  };

  Known& known(const Suspect& suspect, Clock::Instant now);
  void judge(const Suspect& suspect, const OrphanSweep& look, std::vector<OrphanStep>& steps);

  OrphanPolicy policy_;
  std::chrono::nanoseconds grace_;
  std::map<std::string, Known> known_;  // by place
  std::size_t orphans_ = 0;
};

}  // namespace flexlocal::provisioner
