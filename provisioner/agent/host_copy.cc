#include "provisioner/agent/host_copy.h"

#include <algorithm>

namespace flexlocal::provisioner {
namespace {

RecordStage stage_of(engine::RecordState state) {
  switch (state) {
    case engine::RecordState::kRefused:
      return RecordStage::kRefused;
    case engine::RecordState::kPromised:
      return RecordStage::kPromised;
    case engine::RecordState::kIntent:
    case engine::RecordState::kNew:
      return RecordStage::kMaking;
    case engine::RecordState::kReady:
      return RecordStage::kReady;
    case engine::RecordState::kWiping:
      return RecordStage::kWiping;
  }
  return RecordStage::kDamaged;
}

DiskStage stage_of(const engine::Ownership& tags) {
  if (tags.wiping) return DiskStage::kWiping;
  return tags.ready ? DiskStage::kReady : DiskStage::kMaking;
}

// What a look at the disks finds of one volume.
class Finder {
 public:
  Finder(const engine::Inventory& seen, const engine::NodeConfig& config, const CopyOrder& order,
         HostCopy& host)
      : seen_(seen), config_(config), order_(order), host_(host) {}

  void find() {
    for (const engine::LogicalVolume& volume : seen_.volumes)
      if (volume.name == name()) found(volume);
    for (const engine::OwnedFolder& folder : seen_.folders)
      if (folder.name == name()) found(folder);
    if (finds_ == 0 && !is_seen()) host_.disk = DiskStage::kUnseen;
    if (host_.disk == DiskStage::kUnseen) host_.unseen_why = trouble_of_pool();
    if (finds_ > 1) host_.record = RecordStage::kDamaged;
  }

 private:
  const std::string& name() const { return order_.volume.name.text(); }

  void found(const engine::LogicalVolume& volume) {
    // What older metadata say of it may be of another volume's time.
    if (seen_.outdated.contains(volume.group))
      host_.disk = DiskStage::kUnseen;
    else if (volume.ownership)
      found(*volume.ownership, stage_of(*volume.ownership));
    else
      host_.disk = DiskStage::kForeign;
    host_.open = host_.open || volume.open;
    host_.size = volume.size;
    ++finds_;
  }

  void found(const engine::OwnedFolder& folder) {
    // A folder stands at its place only when it is complete, and none that is being removed.
    found(folder.owner, DiskStage::kReady);
    host_.open = host_.open || folder.open;
    host_.size = folder.limit;
    ++finds_;
  }

  void found(const engine::Ownership& tags, DiskStage stage) {
    const bool of_cluster = tags.cluster_id == order_.volume.cluster_id;
    host_.disk = of_cluster ? stage : DiskStage::kForeign;
    if (of_cluster) host_.disk_copy = tags.copy;
    host_.partly_retained = host_.record != RecordStage::kNone && host_.retained != tags.retained;
    host_.retained = host_.retained || tags.retained;
  }

  std::string trouble_of_pool() const {
    const auto pool = config_.pools.find(order_.volume.pool);
    if (pool == config_.pools.end()) return {};
    const auto outdated = seen_.outdated.find(pool->second.volume_group);
    return outdated == seen_.outdated.end() ? std::string() : outdated->second;
  }

  // Whether what the volume would lie on is to be seen, so that "not found" says something. A pool
  // that node.conf does not name has nothing that was never promised.
  bool is_seen() const {
    const auto pool = config_.pools.find(order_.volume.pool);
    if (pool == config_.pools.end())
      return host_.record == RecordStage::kNone && order_.origin == Origin::kNew;
    if (seen_.outdated.contains(pool->second.volume_group)) return false;
    const std::string id =
        engine::space_id(order_.volume.backend, order_.volume.pool, pool->second);
    return std::any_of(seen_.spaces.begin(), seen_.spaces.end(),
                       [&](const engine::Space& space) { return space.id == id; });
  }

  const engine::Inventory& seen_;
  const engine::NodeConfig& config_;
  const CopyOrder& order_;
  HostCopy& host_;
  int finds_ = 0;
};

}  // namespace

HostCopy host_copy(const engine::Inventory& seen, const engine::NodeConfig& config,
                   const CopyOrder& order, bool hopeless) {
  HostCopy host;
  const std::string& name = order.volume.name.text();
  if (seen.damaged.contains(name)) {
    host.record = RecordStage::kDamaged;
  } else if (const auto found = seen.records.find(name); found != seen.records.end()) {
    const engine::Record& record = found->second;
    host.record = stage_of(record.state);
    host.record_copy = record.spec.copy;
    host.order_uid = record.order.uid;
    host.order_generation = record.order.generation;
    host.order_term = record.order.term;
    host.claim_uid = record.claim_uid;
    host.claim_namespace = record.spec.claim_namespace;
    host.access_mode = record.spec.access_mode;
    host.retained = record.retained;
    host.used = engine::is_unmade(record.state) || record.used;
  }
  // Of what was begun another try may find more.
  host.hopeless = hopeless && host.record == RecordStage::kPromised;
  host.behind = seen.behind.contains(name);
  Finder(seen, config, order, host).find();
  return host;
}

// A host that was in another cluster may still have that one's volumes, and its terms say nothing
// of this one's.
std::int64_t highest_term(const engine::Inventory& seen, const std::string& cluster_id) {
  std::int64_t highest = 0;
  for (const auto& [name, record] : seen.records)
    if (record.spec.cluster_id == cluster_id) highest = std::max(highest, record.order.term);
  return highest;
}

bool is_in_doubt(const CopyOrder& order, const HostCopy& host, const engine::Inventory& seen) {
  if (host.record != RecordStage::kNone && host.record_copy == order.volume.copy)
    return order.term < host.order_term;
  // Of what is not here nothing can be lost by its removal. By its tags alone it may be here.
  const bool here = is_ours(host.disk) && host.disk_copy == order.volume.copy;
  if (is_to_go(order.desired) && !here) return false;
  return order.term < highest_term(seen, order.volume.cluster_id);
}

engine::OrderedCopy ordered_copy(const VolumeCopy& copy, const CopyOrder& order) {
  return {.spec = order.volume,
          .claim_uid = order.claim_uid,
          .retained = is_to_be_kept(order.desired),
          .order = {.uid = copy.uid,
                    .generation = copy.generation,
                    .term = order.term,
                    .claim_name = order.claim_name}};
}

}  // namespace flexlocal::provisioner
