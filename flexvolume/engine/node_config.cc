#include "flexvolume/engine/node_config.h"

#include <boost/program_options.hpp>
#include <sstream>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract.h"
#include "flexvolume/engine/tools.h"

namespace flexlocal::engine {
namespace {

namespace options = boost::program_options;

constexpr std::string_view kAccepted =
    "kubelet-dir, log-level, [pool.NAME] volume-group, [tool] NAME = PATH";

bool is_clean_absolute_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  for (const std::string_view part : split(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return path.find_first_of("\n\t") == std::string_view::npos;
}

Error wrong(const std::string& key, std::string_view why) {
  return Error(ErrorCode::kInvalid, concat("key ", printable(key, 80), ": ", why));
}

Status set_pool_key(NodeConfig& config, const std::string& key, const std::string& value) {
  const std::string_view rest = std::string_view(key).substr(5);
  const std::size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot);
  if (!is_dns_label(name))
    return wrong(key, "a pool's name has lower-case letters, digits and hyphens only");
  if (dot == std::string_view::npos || rest.substr(dot + 1) != "volume-group")
    return wrong(key, concat("not known; accepted are ", kAccepted));
  if (!is_volume_group_name(value)) return wrong(key, "not the name of a volume group");
  config.pools[std::string(name)].volume_group = value;
  return {};
}

Status set_tool_key(NodeConfig& config, const std::string& key, const std::string& value) {
  const std::string name = key.substr(5);
  if (!is_tool(name)) return wrong(key, concat("not a tool; accepted are ", tool_names()));
  if (!is_clean_absolute_path(value)) return wrong(key, "not an absolute path");
  config.tools[name] = value;
  return {};
}

Status set_key(NodeConfig& config, const std::string& key, const std::string& value) {
  if (key.starts_with("pool.")) return set_pool_key(config, key, value);
  if (key.starts_with("tool.")) return set_tool_key(config, key, value);
  if (key == "kubelet-dir") {
    if (!is_clean_absolute_path(value)) return wrong(key, "not an absolute path");
    config.kubelet_dir = value;
    return {};
  }
  if (key == "log-level") {
    if (!parse_log_level(value, config.log_level))
      return wrong(key, "accepted are debug, info, warning, error");
    return {};
  }
  return wrong(key, concat("not known; accepted are ", kAccepted));
}

}  // namespace

Result<NodeConfig> parse_node_config(const std::string& text, const std::string& origin) {
  NodeConfig config;
  try {
    std::istringstream stream(text);
    const options::options_description none;
    const auto parsed = options::parse_config_file(stream, none, /*allow_unregistered=*/true);
    for (const auto& option : parsed.options) {
      const std::string value = option.value.empty() ? std::string() : option.value.front();
      if (auto set = set_key(config, option.string_key, value); !set)
        return set.error().context(origin);
    }
  } catch (const options::error& error) {
    return Error(ErrorCode::kInvalid, concat(origin, ": ", error.what()));
  }
  if (config.pools.empty())
    return Error(
        ErrorCode::kInvalid,
        concat(origin,
               ": no pool is defined; add \"[pool.default]\" with \"volume-group = NAME\""));
  return config;
}

Result<NodeConfig> load_node_config(const std::string& path) {
  const auto text = read_file(path, Bytes(64 * kKiB.count()));
  if (text) return parse_node_config(*text, path);
  if (text.error().code() == ErrorCode::kNotFound)
    return Error(
        ErrorCode::kNotFound,
        concat(path, " is missing; write \"[pool.default]\" and \"volume-group = NAME\" into it"));
  return text.error();
}

Result<Pool> find_pool(const NodeConfig& config, const std::string& name) {
  if (const auto found = config.pools.find(name); found != config.pools.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [pool, ignored] : config.pools) known.push_back(pool);
  return Error(ErrorCode::kInvalid,
               concat("pool \"", printable(name, 80), "\" is not defined on this node (",
                      kNodeConfigPath, " has ", join(known, ", "), ")"));
}

}  // namespace flexlocal::engine
