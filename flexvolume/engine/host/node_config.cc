#include "flexvolume/engine/host/node_config.h"

#include <boost/program_options.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"
#include "flexvolume/engine/host/tools.h"

namespace flexlocal::engine {
namespace {

namespace options = boost::program_options;

constexpr std::string_view kAccepted =
    "kubelet-dir, log-level, [pool.NAME] volume-group, layout, thin-pool, overcommit, quota-path, "
    "quota-size, [tool] NAME = PATH";
constexpr unsigned kMostOvercommit = 100;

bool is_clean_absolute_path(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  for (const std::string_view part : split(path.substr(1), '/'))
    if (part.empty() || part == "." || part == "..") return false;
  return path.find_first_of("\n\t") == std::string_view::npos;
}

Error wrong(const std::string& key, std::string_view why) {
  return Error(ErrorCode::kInvalid, concat("key ", printable(key, 80), ": ", why));
}

// "1.5" as percent: two decimals, from 1 to kMostOvercommit.
std::optional<unsigned> parse_overcommit(std::string_view text) {
  const std::size_t dot = text.find('.');
  std::string fraction(dot == std::string_view::npos ? "" : text.substr(dot + 1));
  if (fraction.size() > 2 || (dot != std::string_view::npos && fraction.empty()))
    return std::nullopt;
  fraction.resize(2, '0');
  unsigned long long whole = 0;
  unsigned long long hundredths = 0;
  if (!parse_number(text.substr(0, dot), kMostOvercommit, whole) || whole == 0 ||
      !parse_number(fraction, whole == kMostOvercommit ? 0 : 99, hundredths))
    return std::nullopt;
  return static_cast<unsigned>(whole * 100 + hundredths);
}

Status set_pool_value(Pool& pool, const std::string& key, std::string_view word,
                      const std::string& value) {
  if (word == "volume-group" || word == "thin-pool") {
    if (!is_lvm_name(value)) return wrong(key, "not a name that LVM takes");
    (word == "thin-pool" ? pool.thin_pool : pool.volume_group) = value;
  } else if (word == "layout") {
    const auto layout = parse_layout(value);
    if (!layout) return wrong(key, layout.error().message());
    pool.layout = *layout;
  } else if (word == "overcommit") {
    const auto percent = parse_overcommit(value);
    if (!percent) return wrong(key, "accepted are 1 to 100, with two decimals at most");
    pool.overcommit_percent = *percent;
  } else if (word == "quota-path") {
    // It is part of a command of xfs_quota, which takes words apart at spaces.
    if (!is_clean_absolute_path(value) || value.find_first_of(" \"'\\") != std::string::npos)
      return wrong(key, "not an absolute path without spaces and quotes");
    pool.quota_path = value;
  } else if (word == "quota-size") {
    const auto size = parse_quantity(value);
    if (!size) return wrong(key, size.error().message());
    pool.quota_size = *size;
  } else {
    return wrong(key, concat("not known; accepted are ", kAccepted));
  }
  return {};
}

Status set_pool_key(NodeConfig& config, const std::string& key, const std::string& value) {
  const std::string_view rest = std::string_view(key).substr(5);
  const std::size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot);
  if (!is_dns_label(name))
    return wrong(key, "a pool's name has lower-case letters, digits and hyphens only");
  if (dot == std::string_view::npos)
    return wrong(key, concat("not known; accepted are ", kAccepted));
  return set_pool_value(config.pools[std::string(name)], key, rest.substr(dot + 1), value);
}

// What no single key shows.
Status check_pool(const std::string& name, const Pool& pool) {
  const auto refused = [&](std::string_view why) {
    return Error(ErrorCode::kInvalid, concat("[pool.", name, "]: ", why));
  };
  if (pool.volume_group.empty() && pool.quota_path.empty())
    return refused("name a volume-group or a quota-path");
  if (pool.volume_group.empty() && (!pool.thin_pool.empty() || pool.quota_size.count() != 0))
    return refused("thin-pool and quota-size need a volume-group");
  if (!pool.quota_path.empty() && pool.quota_size.count() != 0)
    return refused("quota-path and quota-size are two ways to say it: give one");
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
  } catch (const options::invalid_config_file_syntax& error) {
    // Not what(): it puts the line into a text of its own, again and again without end when the
    // line has one of the marks that it looks for (error_with_option_name::replace_token).
    return Error(ErrorCode::kInvalid, concat(origin, ": \"", printable(error.tokens(), 80),
                                             "\" is neither [section] nor key = value"));
  } catch (const options::error&) {
    return Error(ErrorCode::kInvalid, concat(origin, ": not an INI file"));
  }
  if (config.pools.empty())
    return Error(
        ErrorCode::kInvalid,
        concat(origin,
               ": no pool is defined; add \"[pool.default]\" with \"volume-group = NAME\""));
  for (const auto& [name, pool] : config.pools)
    if (auto checked = check_pool(name, pool); !checked) return checked.error().context(origin);
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
