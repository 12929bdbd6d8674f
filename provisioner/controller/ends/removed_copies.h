// The objects of copies that are removed: each is deleted when nobody can write for it any more.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "flexvolume/base/clock.h"
#include "provisioner/controller/orders/order_desk.h"
#include "provisioner/work/requeue.h"

namespace flexlocal::provisioner {

// For as long an object stays after its copy was removed: a late answer, or a leader's late write,
// finds it and changes nothing. A lease and a request's time-out.
inline constexpr std::chrono::seconds kRemovedStays{45};

class RemovedCopies {
 public:
  RemovedCopies(OrderDesk& desk, const Clock& clock) : desk_(desk), clock_(clock) {}

  // One pass over one of them. Returns after which time it is to be looked at again.
  Task<Requeue> bury(const VolumeCopy& copy);
  // It is none, or its object is gone.
  void forget(const std::string& name) { since_.erase(name); }

 private:
  OrderDesk& desk_;
  const Clock& clock_;
  std::map<std::string, Clock::Instant> since_;  // when it was seen so first
};

}  // namespace flexlocal::provisioner
