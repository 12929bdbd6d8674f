// A VolumeCopy whose claim is gone, and the collector's passes over it.
#pragma once

#include <string>

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {

// What the API server is asked before a copy is taken for nobody's.
inline const std::string kLooks = "GET persistentvolumeclaims, GET persistentvolumes";

// The order of a claim that is gone.
struct CollectorLab : OrderLab {
  CollectorLab() { know_copy(sample_order()); }
  Requeue work() { return wait_for(collector.work(copy())); }
  // What rests needs no pass.
  std::string did() {
    const bool rested = collector.rests(copy());
    const auto worked = work();
    REQUIRE_MESSAGE(worked, worked.error().message());
    std::string done = server.done();
    if (rested) CHECK(done == "");
    return done;
  }
  void order(DesiredState desired) {
    CopyOrder changed = order_now();
    changed.desired = desired;
    REQUIRE(wait_for(desk.change(copy(), changed)));
    server.journal.clear();
  }
  CopyOrder order_now() const { return *copy().order; }
};

}  // namespace flexlocal::provisioner::test
