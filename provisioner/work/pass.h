// What one pass over a key of a work queue came to, when it did not fail.
#pragma once

namespace flexlocal::provisioner {

enum class Pass {
  kDone,
  kRequeue,  // begun, with more to do: it comes again soon, behind whatever else waits
  kLater     // what is left takes long: it comes at once, behind what is awaited
};

}  // namespace flexlocal::provisioner
