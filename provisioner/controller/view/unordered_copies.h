// What nodes have and no VolumeCopy names, as their agents tell it: no claim gets an empty volume
// in place of it. What is nobody's any more is orphaned_copy_worker.h's.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "provisioner/controller/view/copy_index.h"
#include "provisioner/controller/view/node_cache.h"
#include "provisioner/objects/copy_order.h"
#include "provisioner/objects/copy_roll.h"

namespace flexlocal::provisioner {

class UnorderedCopies {
 public:
  struct Found {
    NodeIdentity node;
    ToldCopy copy;
    bool of_this_claim = false;  // else of an earlier one of its name
    bool alone = true;           // no other copy of this claim's is told of
  };

  UnorderedCopies(const NodeCache& nodes, const CopyIndex& index) : nodes_(nodes), index_(index) {}

  // What holds the claim back: a copy of its own volume, one that may hold data before one that
  // does not; else one that may, and was ordered last for a claim of its name, unless it was to be
  // kept without one.
  std::optional<Found> of_claim(const Claim& claim) const;

  // Of all of them: the names that their VolumeCopies would have.
  std::set<std::string> names() const;
  std::optional<Found> find(const std::string& name) const;

  // visit(node, copy) for each that no VolumeCopy names by now: a node that is silent does not know
  // of those that were made since.
  template <typename Visit>
  void for_each(Visit visit) const {
    nodes_.beats().for_each([&](const std::string&, const NodeHeartbeat& beat) {
      if (!beat.report.roll || beat.report.roll->told.empty()) return;
      const Node* const node = nodes_.get(beat.node);
      if (node == nullptr) return;
      for (const ToldCopy& copy : beat.report.roll->told)
        if (index_.find(copy.volume.name.text(), copy.volume.copy) == nullptr)
          visit(identity_of(*node), copy);
    });
  }

 private:
  const NodeCache& nodes_;
  const CopyIndex& index_;
};

// What is there is ordered as it is there, whatever the claim's class says now.
void order_as_found(const ToldCopy& copy, CopyOrder& order);

// That it is kept as it is, by no claim mountable. `cluster_id`: which all agents speak of.
CopyOrder order_to_keep(const UnorderedCopies::Found& found, const std::string& cluster_id);

}  // namespace flexlocal::provisioner
