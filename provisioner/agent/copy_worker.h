// Brings the disks of this node to what one order says, and answers it. Decisions are plan_copy's.
#pragma once

#include <optional>
#include <string>

#include "flexvolume/base/clock.h"
#include "provisioner/agent/copy_answer.h"
#include "provisioner/agent/copy_client.h"
#include "provisioner/agent/copy_hand.h"
#include "provisioner/work/pass.h"

namespace flexlocal::provisioner {

// Who carries out.
struct AgentHost {
  AgentIdentity identity;
  std::string id;  // of the host, in the status
};

// How long a pass may take.
enum class Pace {
  kWhole,  // until there is nothing left to do
  kBrief   // what runs programs on the disks is left to another pass
};

class CopyWorker {
 public:
  CopyWorker(CopyClient client, CopyHand hand, Ledger& ledger, const engine::NodeConfig& config,
             AgentHost self, const Clock& clock)
      : client_(std::move(client)),
        hand_(std::move(hand)),
        ledger_(ledger),
        config_(config),
        self_(std::move(self)),
        clock_(clock) {}

  // See CopyClient. Before anything is worked on.
  void confirm_by(CopyClient::Confirm confirm) { client_.confirm_by(std::move(confirm)); }

  // One pass over the order of that name: of a long wipe, one slice of seconds. An Error means:
  // again, after a pause.
  Task<Result<Pass>> work(const std::string& name, Pace pace = Pace::kWhole);

 private:
  // One pass.
  struct Turn {
    VolumeCopy copy;
    Pace pace;
    std::uint64_t looks;  // at the disks, which were begun before this pass
    bool fresh = false;   // see CopyView
    bool looked = false;  // the disks were looked at in this pass
    HostCopy host{};
    CopyPlan plan{};
    std::optional<Bytes> wiped{};  // by this pass, if it is to be told
  };
  // How a step ended: nothing, when the next one follows.
  using StepEnd = Result<std::optional<Pass>>;

  Task<StepEnd> step(Turn& turn);
  void decide(Turn& turn) const;
  Task<StepEnd> read_anew(Turn& turn);
  Task<StepEnd> act(Turn& turn);
  Task<StepEnd> fail(Turn& turn, const Error& error);
  Task<Result<bool>> answer(Turn& turn, const std::optional<CopyProblem>& problem);

  CopyClient client_;
  CopyHand hand_;
  Ledger& ledger_;
  const engine::NodeConfig& config_;
  AgentHost self_;
  const Clock& clock_;
};

}  // namespace flexlocal::provisioner
