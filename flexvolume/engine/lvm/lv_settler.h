// Brings the records and the tags of logical volumes together, see Engine::settle.
#pragma once

#include "flexvolume/base/result.h"
#include "flexvolume/engine/host/node_config.h"
#include "flexvolume/engine/lvm/lv_parts.h"
#include "flexvolume/engine/lvm/lvm_report.h"

namespace flexlocal::engine {

class LvSettler {
 public:
  LvSettler(const LvParts& parts, const NodeConfig& config) : parts_(parts), config_(config) {}

  // Every volume is tried; the first failure is returned.
  Status run(const Inventory& inventory);

 private:
  Status settle(const LogicalVolume& volume);
  Status find_data(const std::optional<Record>& promise, const LogicalVolume& volume, int lock);
  Status complete_growth(const LogicalVolume& volume);
  // What is to be mended by hand is told, and does not make the node one that takes no volumes.
  void log_failure(std::string_view what, const Status& done);

  LvParts parts_;
  const NodeConfig& config_;
};

}  // namespace flexlocal::engine
