// The node's last word on what its controller ordered: whether there is room, budget and a pool for
// a copy, or for its growth.
#pragma once

#include <string>

#include "provisioner/accounting/budget.h"
#include "provisioner/agent/ledger.h"
#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

class CopyJudge {
 public:
  // Both must outlive this; `budget` may change meanwhile.
  CopyJudge(Ledger& ledger, const NodeBudget& budget) : ledger_(ledger), budget_(budget) {}

  // Whether the copy may be made, or may have the size that is ordered now. If so, that much is
  // reserved until release(). kNoSpace, kNotFound and kInvalid, in words, when not; anything else
  // is a look at the disks that failed.
  Task<Status> judge(const CopyOrder& order);
  void release(const CopyOrder& order) { ledger_.release(order.volume.name.text()); }

 private:
  Status judge_now(const CopyOrder& order) const;

  Ledger& ledger_;
  const NodeBudget& budget_;
};

// Whether the error of judge() says that the node cannot have it.
bool is_refusal(const Error& error);

}  // namespace flexlocal::provisioner
