// The one place where a tool of the host's is run and its failure is put into words.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/program.h"
#include "flexvolume/engine/host/tools.h"

namespace flexlocal::engine {

struct ToolCall {
  std::string_view tool;  // one of all_tools()
  std::vector<std::string> arguments;
  std::chrono::milliseconds deadline;
  std::vector<int> keep = {};   // descriptors that it inherits: see Command
  std::vector<int> fine = {0};  // exit codes that are no failure
};

// kNotFound when the host has no such tool, kDeadline when it was killed by its deadline, kFailed
// with the first 500 bytes of its stderr when it ended with another code than those that are fine.
Result<CommandOutput> run_tool(CommandRunner& runner, const Tools& tools, ToolCall call);

// The same, where nothing is wanted of its output.
Status do_tool(CommandRunner& runner, const Tools& tools, ToolCall call);

}  // namespace flexlocal::engine
