// What a row of steps comes to when each is tried, whatever became of those before it.
#pragma once

#include "flexvolume/base/result.h"

namespace flexlocal {

class FirstFailure {
 public:
  void note(const Status& done) {
    if (status_) status_ = done;
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

}  // namespace flexlocal
