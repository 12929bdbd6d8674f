// What the agent answers to an order, from what it decided: the status of a VolumeCopy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/clock.h"
#include "provisioner/agent/copy_plan.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// Why a copy is not as its order says.
struct CopyProblem {
  std::string reason;   // one word
  std::string message;  // for a person: what is wrong, and what to do

  bool operator==(const CopyProblem&) const = default;
};

// nullopt for what needs no words of its own: nothing is wrong, or what was said of it before still
// holds.
std::optional<CopyProblem> problem_of(const CopyPlan& plan, const HostCopy& host,
                                      const VolumeCopy& copy);
// Of an action that failed.
CopyProblem problem_of(CopyAction action, const Error& error);

// `problem`: of an action that failed; else the plan's own is taken. `host`: what the host has
// when it is answered, `host_id` whose word it is.
CopyStatus answer_to(const VolumeCopy& copy, const CopyPlan& plan, const HostCopy& host,
                     const std::optional<CopyProblem>& problem, const std::string& host_id,
                     Clock::Wall now);

}  // namespace flexlocal::provisioner
