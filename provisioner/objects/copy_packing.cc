// How VolumeCopies, and orders, are kept in stores.
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {
namespace {

using kube::Packer;
using kube::Unpacker;

void member(Packer& pack, Bytes size) { pack.number(size.count()); }
void member(Unpacker& pack, Bytes& size) { size = Bytes(pack.number()); }

void member(Packer& pack, const std::optional<Ratio>& ratio) {
  pack.number(ratio ? ratio->millionths() + 1 : 0);
}
void member(Unpacker& pack, std::optional<Ratio>& ratio) {
  if (const std::uint64_t millionths = pack.number(); millionths != 0)
    ratio = Ratio::of_millionths(millionths - 1);
}

void member(Packer& pack, Clock::Wall when) { pack.integer(when.time_since_epoch().count()); }
void member(Unpacker& pack, Clock::Wall& when) {
  Clock::Wall::rep ticks = 0;
  pack.integer(ticks);
  when = Clock::Wall(Clock::Wall::duration(ticks));
}

// All but the name.
template <typename Spec, typename Pack>
void each_member_of_spec(Spec& spec, Pack& pack) {
  auto& [name, copy, cluster_id, claim_namespace, pool, backend, fs_type, size, on_delete, limits,
         mount_options, access_mode] = spec;
  auto& [read_iops, write_iops, read_bandwidth, write_bandwidth, required] = limits;
  pack.text(copy), pack.symbol(cluster_id), pack.symbol(claim_namespace), pack.symbol(pool);
  pack.integer(backend), pack.integer(fs_type), member(pack, size), pack.integer(on_delete);
  pack.integer(read_iops), pack.integer(write_iops), member(pack, read_bandwidth);
  member(pack, write_bandwidth), pack.integer(required);
  pack.symbols(mount_options), pack.integer(access_mode);
}

template <typename Order, typename Pack>
void each_member_of_order(Order& order, Pack& pack) {
  auto& [volume, origin, node, claim_uid, node_uid, hostname, claim_name, storage_class, policy,
         disk_per_ram, desired, term] = order;
  each_member_of_spec(volume, pack);
  pack.integer(origin), pack.symbol(node), pack.text(claim_uid), pack.symbol(node_uid);
  pack.symbol(hostname), pack.text(claim_name), pack.symbol(storage_class), pack.symbol(policy);
  member(pack, disk_per_ram), pack.integer(desired), pack.integer(term);
}

template <typename Condition, typename Pack>
void each_member_of_condition(Condition& condition, Pack& pack) {
  auto& [type, holds, reason, message, since] = condition;
  pack.symbol(type), pack.integer(holds), pack.symbol(reason), pack.text(message);
  member(pack, since);
}

template <typename Status, typename Pack>
void each_member_of_status(Status& status, Pack& pack) {
  auto& [state, promised, made, used, size, mounted, wiped, host, generation, conditions] = status;
  pack.integer(state), pack.integer(promised), pack.integer(made), pack.integer(used),
      member(pack, size);
  pack.integer(mounted), member(pack, wiped), pack.symbol(host), pack.integer(generation);
  if constexpr (Pack::kReads)
    conditions.resize(pack.number());
  else
    pack.number(conditions.size());
  for (auto& condition : conditions) each_member_of_condition(condition, pack);
}

// All but the order.
template <typename Copy, typename Pack>
void each_member_of_copy(Copy& copy, Pack& pack) {
  auto& [name, uid, version, generation, deleting, agent, holds, given_up, order, status] = copy;
  pack.text(name), pack.text(uid), pack.text(version), pack.integer(generation);
  pack.integer(deleting), pack.symbol(agent), pack.text(holds);
  pack.integer(given_up);
  each_member_of_status(status, pack);
}

}  // namespace

void CopyOrder::pack(Packer& packer) const {
  packer.text(volume.name.text());
  each_member_of_order(*this, packer);
}

CopyOrder CopyOrder::unpack(Unpacker& unpacker) {
  std::string name;
  unpacker.text(name);
  CopyOrder order(*engine::VolumeName::parse_any(name));  // it is one's text
  each_member_of_order(order, unpacker);
  return order;
}

void pack(Packer& packer, const Result<CopyOrder>& order) {
  packer.integer(order.ok());
  if (order) return order->pack(packer);
  packer.integer(order.error().code());
  packer.text(order.error().message());
}

Result<CopyOrder> unpack_order(Unpacker& unpacker) {
  if (unpacker.number() != 0) return CopyOrder::unpack(unpacker);
  ErrorCode code{};
  std::string message;
  unpacker.integer(code);
  unpacker.text(message);
  return Error(code, std::move(message));
}

void VolumeCopy::pack(Packer& packer) const {
  each_member_of_copy(*this, packer);
  provisioner::pack(packer, order);
}

VolumeCopy VolumeCopy::unpack(Unpacker& unpacker) {
  VolumeCopy copy{.name = {},
                  .uid = {},
                  .resource_version = {},
                  .order = Error(ErrorCode::kInvalid, "not unpacked yet"),
                  .status = {}};
  each_member_of_copy(copy, unpacker);
  copy.order = unpack_order(unpacker);
  return copy;
}

}  // namespace flexlocal::provisioner
