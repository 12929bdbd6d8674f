// Carries out what is decided of volumes that nobody stands for, and tells of volumes that a node
// made anew has not got.
#pragma once

#include <map>
#include <set>
#include <string>

#include "provisioner/agent/node_parts.h"
#include "provisioner/controller/reclaim/orphan_plan.h"

namespace flexlocal::provisioner {

struct OrphanOptions {
  OrphanPolicy policy = OrphanPolicy::kReport;
  std::chrono::nanoseconds grace = std::chrono::hours(1);
  // Between two looks.
  std::chrono::nanoseconds interval = std::chrono::seconds(60);
};

// Data goes only after three answers of the API server of this moment: the complete list of this
// node's PersistentVolumes, "not found" for the one, and the list of the claims in its namespace.
// An answer that is missing ends the look, and nothing is done.
class OrphanCollector {
 public:
  OrphanCollector(NodeParts& parts, const engine::NodeConfig& config, const OrphanOptions& options)
      : parts_(parts),
        config_(config),
        options_(options),
        register_(options.policy, options.grace) {}

  // Looks again and again until its task is told to stop.
  Task<void> run();

  // One look, and what follows from it but the removals themselves. The first error of several.
  Task<Status> sweep();
  // Removes what the last look decided, of each volume what can be wiped in seconds. True: there is
  // more to do.
  Task<bool> remove_some();

  std::size_t orphans() const { return register_.orphans(); }

 private:
  Task<Status> take(const OrphanStep& step);
  Task<Result<bool>> is_without_volume(const Suspect& suspect);
  Task<Result<bool>> has_claim(const Suspect& suspect);
  Task<Result<bool>> remove_slice(const Suspect& suspect);
  std::set<std::string> claim_uids() const;
  void tell_of_missing(const engine::Inventory& inventory);
  void tell_claim(const Suspect& suspect);
  void report(const OrphanStep& step);
  void report_failure(const Suspect& suspect, const Error& why);
  void say_on_node(kube::EventType type, std::string_view reason, const std::string& message);

  NodeParts& parts_;
  const engine::NodeConfig& config_;
  OrphanOptions options_;
  OrphanRegister register_;
  std::map<std::string, Suspect> removing_;      // by place
  std::map<std::string, std::string> troubles_;  // by place: the failure that was told last
  std::set<std::string> missing_;                // volumes that were told of
  std::string told_;                             // the failed look that was logged last
};

}  // namespace flexlocal::provisioner
