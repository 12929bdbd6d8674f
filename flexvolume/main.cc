// flexlocal: the FlexVolume driver that kubelet calls. Its standard output is one JSON object and
// nothing else ever; what else there is to say goes to syslog.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>
#include <optional>

#include "flexvolume/base/program.h"
#include "flexvolume/callout.h"
#include "flexvolume/cli/command_line.h"
#include "flexvolume/engine/host/kernel_mounter.h"
#include "flexvolume/engine/volume/init_mark.h"

namespace flexlocal::plugin {
namespace {

// The real host, put together when a call first needs it.
class HostNode final : public Node {
 public:
  explicit HostNode(SyslogLog& log) : log_(log) {}

  Result<engine::Engine*> engine() override {
    auto config = engine::load_node_config(std::string(engine::kNodeConfigPath));
    if (!config) return config.error();
    log_.set_least(config->log_level);
    return &build(std::move(*config));
  }

  engine::Engine& engine_for_unmount() override {
    auto whole = engine();
    if (whole) return **whole;
    log_.warning("unmounting without node.conf", {{"error", whole.error().message()}});
    return build({});
  }

  Status leave_init_mark() override {
    return engine::leave_init_mark(std::string(engine::kLockFolder));
  }

 private:
  engine::Engine& build(engine::NodeConfig config) {
    config_ = std::move(config);
    return engine_.emplace(engine::Host{runner_, devices_, mounter_, log_}, config_);
  }

  SyslogLog& log_;
  ProcessRunner runner_;
  engine::KernelDevices devices_;
  engine::KernelMounter mounter_;
  engine::NodeConfig config_;
  std::optional<engine::Engine> engine_;
};

// A caller that closed them would have the first files that we open written to in their place.
void open_missing_streams() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= STDIN_FILENO && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) ::close(fd);
}

Answer answer(const std::vector<std::string>& arguments) {
  // kubelet's own end may be gone; the answer then has no reader, and that must not kill a mount
  // half-way.
  ::signal(SIGPIPE, SIG_IGN);
  SyslogLog log;
  mark_inherited_close_on_exec();
  HostNode node(log);
  return call_out(arguments, node, log);
}

int run(const std::vector<std::string>& arguments) {
  open_missing_streams();
  if (cli::is_cli_call(arguments)) return cli::run_cli(arguments, std::cout, std::cerr);
  Answer answered;
  try {
    answered = answer(arguments);
  } catch (const std::exception& broken) {
    answered = failure(Error(ErrorCode::kFailed, broken.what()));
  }
  std::cout << answered.json << std::endl;
  return answered.exit_code;
}

}  // namespace
}  // namespace flexlocal::plugin

int main(int count, char** values) {
  return flexlocal::plugin::run(
      std::vector<std::string>(values + (count > 0 ? 1 : 0), values + count));
}
