// What examples/operating.md tells people to write into node.conf.
#include <doctest/doctest.h>

#include <fstream>
#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/host/node_config.h"

namespace flexlocal::engine {
namespace {

// The indented blocks of a section, without their indentation; empty lines within one belong to it.
std::vector<std::string> blocks_of(const std::string& document, const std::string& section) {
  std::ifstream file(document);
  std::vector<std::string> blocks;
  std::string empty_lines;
  bool in_section = false;
  bool in_block = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) in_section = line == "## " + section;
    if (!in_section) continue;
    if (line.empty()) {
      empty_lines += '\n';
    } else if (line.starts_with("    ")) {
      if (!in_block) blocks.emplace_back();
      if (in_block) blocks.back() += empty_lines;
      blocks.back() += concat(line.substr(4), '\n');
      in_block = true;
      empty_lines.clear();
    } else {
      in_block = false;
      empty_lines.clear();
    }
  }
  return blocks;
}

NodeConfig accepted(const std::string& text) {
  auto config = parse_node_config(text, "node.conf");
  INFO(text);
  REQUIRE(config.ok());
  return std::move(*config);
}

}  // namespace

TEST_CASE("each node.conf in operating.md is accepted, and means what is said of it") {
  const auto blocks = blocks_of("examples/operating.md", "node.conf");
  REQUIRE(blocks.size() == 5);
  const Pool mirrored = accepted(blocks[0]).pools.at("default");
  CHECK(mirrored.volume_group == "data");
  CHECK(to_string(mirrored.layout) == "raid1");
  CHECK(to_string(accepted(blocks[1]).pools.at("fast").layout) == "striped:4");
  const Pool made = accepted(blocks[2]).pools.at("small");
  CHECK(made.quota_size == Bytes(500 * kGiB.count()));
  CHECK(accepted(blocks[3]).pools.at("small").quota_path == "/srv/small");
  const NodeConfig all = accepted(blocks[4]);
  CHECK(all.pools.size() == 3);
  CHECK(all.pools.at("cheap").thin_pool == "pool0");
  CHECK(all.pools.at("cheap").overcommit_percent == 200);
  CHECK(all.tools.at("mkfs.xfs") == "/opt/xfsprogs/mkfs.xfs");
  CHECK(all.kubelet_dir == NodeConfig().kubelet_dir);
}

}  // namespace flexlocal::engine
