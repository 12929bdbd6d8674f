// Orders the removal of orphaned copies, and tells what comes of it.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "provisioner/controller/ends/copy_owners.h"
#include "provisioner/controller/ends/orphan.h"
#include "provisioner/controller/ends/orphan_ages.h"
#include "provisioner/controller/ends/orphan_report.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/controller/view/roll.h"

namespace flexlocal::provisioner {

class OrphanRemoval {
 public:
  // `options` outlive it.
  OrphanRemoval(const CopyOwners& owners, Roll& roll, OrderDesk& desk, OrphanAges& ages,
                OrphanReport& report, const OrphanOptions& options)
      : owners_(owners),
        roll_(roll),
        desk_(desk),
        ages_(ages),
        report_(report),
        options_(options) {}

  // Whether the API server may have forgotten whose copies are.
  bool is_in_doubt() const { return roll_.leaves_doubt() || options_.saw_put_back; }
  // Of one that has a VolumeCopy. What came while the API server was asked whose it is counts.
  Task<Status> remove(const Orphan& orphan);
  // One pass over an order: says on the Node what comes of an orphan's removal. Whether there is
  // nothing more to say, so that the copy can be forgotten.
  bool report(const VolumeCopy& copy);

  void forget(const std::string& name) { removing_.erase(name); }
  void forget_unless(const std::function<bool(const std::string& name)>& is_there);

 private:
  const CopyOwners& owners_;
  Roll& roll_;
  OrderDesk& desk_;
  OrphanAges& ages_;
  OrphanReport& report_;
  const OrphanOptions& options_;
  std::set<std::string> removing_;  // orders that were given here
};

}  // namespace flexlocal::provisioner
