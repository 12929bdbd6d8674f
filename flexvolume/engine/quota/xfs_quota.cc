#include "flexvolume/engine/quota/xfs_quota.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/run_tool.h"

namespace flexlocal::engine {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

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
  // Without the administrator's tables: an id that stands in /etc/projects would be set up on the
  // folders that are named there as well.
  std::vector<std::string> arguments = {"-x", "-D", "/dev/null", "-P", "/dev/null"};
  for (const std::string& command : commands) {
    arguments.emplace_back("-c");
    arguments.push_back(command);
  }
  arguments.push_back(mount_point);
  return do_tool(runner_, tools_, {"xfs_quota", std::move(arguments), kDeadline, locks});
}

}  // namespace flexlocal::engine
