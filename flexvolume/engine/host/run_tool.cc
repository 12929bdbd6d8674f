#include "flexvolume/engine/host/run_tool.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {

Result<CommandOutput> run_tool(CommandRunner& runner, const Tools& tools, ToolCall call) {
  auto path = tools.path(call.tool);
  if (!path) return path.error();
  auto output = runner.run(
      {std::move(*path), std::move(call.arguments), call.deadline, std::move(call.keep)});
  if (!output) return output;
  if (std::find(call.fine.begin(), call.fine.end(), output->exit_code) != call.fine.end())
    return output;
  return Error(ErrorCode::kFailed, concat(call.tool, " failed (exit code ", output->exit_code,
                                          "): ", printable(trim(output->err), 500)));
}

Status do_tool(CommandRunner& runner, const Tools& tools, ToolCall call) {
  const auto output = run_tool(runner, tools, std::move(call));
  return output ? Status() : output.error();
}

}  // namespace flexlocal::engine
