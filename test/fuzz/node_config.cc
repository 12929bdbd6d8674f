// node.conf: an administrator's, who is no enemy but makes mistakes.
#include "flexvolume/engine/host/node_config.h"

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/volume_name.h"
#include "flexvolume/engine/host/tools.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

bool is_absolute(std::string_view path) {
  return path.starts_with('/') && path.find("/../") == std::string_view::npos &&
         !path.ends_with("/..") && path.find('\n') == std::string_view::npos;
}

void check_pool(const std::string& name, const engine::Pool& pool) {
  require(engine::is_dns_label(name), "a pool's name is a label");
  require(!pool.volume_group.empty() || !pool.quota_path.empty(), "a pool is somewhere");
  for (const std::string& lvm : {pool.volume_group, pool.thin_pool})
    require(lvm.empty() || engine::is_lvm_name(lvm), "LVM takes every name");
  require(pool.quota_path.empty() || is_absolute(pool.quota_path), "paths are absolute");
  require(pool.overcommit_percent >= 100 && pool.overcommit_percent <= 10000,
          "overcommit is 1 to 100");
  require(pool.quota_size <= kMostBytes, "a size fits 63 bits");
  const auto layout = engine::parse_layout(to_string(pool.layout));
  require(layout.ok() && *layout == pool.layout, "a layout that is written reads back as itself");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string text(fuzz::as_text(data, size));
  const auto config = engine::parse_node_config(text, "node.conf");
  if (!config) {
    fuzz::require(config.error().code() == ErrorCode::kInvalid, "a wrong node.conf is invalid");
    fuzz::require(config.error().message().starts_with("node.conf"), "an error names the file");
    return 0;
  }
  fuzz::require(!config->pools.empty(), "there is a pool");
  fuzz::require(fuzz::is_absolute(config->kubelet_dir), "paths are absolute");
  for (const auto& [name, pool] : config->pools) {
    fuzz::check_pool(name, pool);
    fuzz::require(engine::find_pool(*config, name).ok(), "a pool is found by its name");
  }
  for (const auto& [name, path] : config->tools)
    fuzz::require(engine::is_tool(name) && fuzz::is_absolute(path), "paths are absolute");
  return 0;
}
