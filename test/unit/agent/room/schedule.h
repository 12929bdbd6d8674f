// Enumerates schedules: every order in which steps of tasks may come, up to a number of switches
// away from a task that could have gone on (Musuvathi and Qadeer, "Iterative context bounding",
// PLDI 2007). A run is repeated from its start with other choices.
#pragma once

#include <cstddef>
#include <vector>

namespace flexlocal::provisioner::test {

class Schedule {
 public:
  // One of `options`, of which there is at least one: in the first run the first, each time.
  unsigned pick(unsigned options) {
    if (at_ == choices_.size()) choices_.push_back({0, options});
    return choices_[at_++].picked;
  }
  // To the next run; false: there is none.
  bool next() {
    at_ = 0;
    while (!choices_.empty() && choices_.back().picked + 1 == choices_.back().options)
      choices_.pop_back();
    if (choices_.empty()) return false;
    ++choices_.back().picked;
    return true;
  }

 private:
  struct Choice {
    unsigned picked, options;
  };
  std::vector<Choice> choices_;
  std::size_t at_ = 0;
};

}  // namespace flexlocal::provisioner::test
