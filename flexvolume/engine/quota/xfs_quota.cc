#include "flexvolume/engine/quota/xfs_quota.h"

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

std::string limit_command(const ProjectLimit& limit) {
  return concat("limit -p bhard=", limit.size.count(), " ihard=", limit.inodes, ' ', limit.id);
}

}  // namespace

Status XfsQuota::set(const std::string& mount_point, const std::string& folder,
                     const ProjectLimit& limit, const std::vector<int>& locks) {
  return run(mount_point, {concat("project -s -p ", folder, ' ', limit.id), limit_command(limit)},
             locks);
}

Status XfsQuota::set(const std::string& mount_point, const ProjectLimit& limit,
                     const std::vector<int>& locks) {
  return run(mount_point, {limit_command(limit)}, locks);
}

Status XfsQuota::run(const std::string& mount_point, const std::vector<std::string>& commands,
                     const std::vector<int>& locks) {
  auto path = tools_.path("xfs_quota");
  if (!path) return path.error();
  // Without the administrator's tables: an id that stands in /etc/projects would be set up on the
  // folders that are named there as well.
  std::vector<std::string> arguments = {"-x", "-D", "/dev/null", "-P", "/dev/null"};
  for (const std::string& command : commands) {
    arguments.emplace_back("-c");
    arguments.push_back(command);
  }
  arguments.push_back(mount_point);
  const auto output =
      runner_.run({std::move(*path), std::move(arguments), std::chrono::seconds(60), locks});
  if (!output) return output.error();
  if (output->exit_code != 0)
    return Error(ErrorCode::kFailed, concat("xfs_quota failed (exit code ", output->exit_code,
                                            "): ", printable(trim(output->err), 500)));
  return {};
}

}  // namespace flexlocal::engine
