// How claims and PersistentVolumes are kept in stores.
#include <algorithm>

#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {
namespace {

// "2026-01-01T00:00:00Z", as the API server writes times.
constexpr std::size_t kTime = 20;

// Of most claims conditions differ by their time alone: Kubernetes 1.37 gives each one that says
// whether a pod has it.
void member(kube::Packer& pack, const std::vector<std::string>& conditions) {
  pack.number(conditions.size());
  for (const std::string& text : conditions) {
    constexpr std::string_view kKey = R"("lastTransitionTime":")";
    const std::size_t key = text.find(kKey);
    const std::size_t time = key == std::string::npos ? text.size() : key + kKey.size();
    const std::size_t behind = std::min(text.size(), time + kTime);
    pack.symbol(std::string_view(text).substr(0, time));
    pack.text(std::string_view(text).substr(time, behind - time));
    pack.symbol(std::string_view(text).substr(behind));
  }
}
void member(kube::Unpacker& pack, std::vector<std::string>& conditions) {
  conditions.resize(pack.number());
  for (std::string& text : conditions) {
    std::string time;
    std::string behind;
    pack.symbol(text), pack.text(time), pack.symbol(behind);
    text += time + behind;
  }
}

template <typename Object, typename Pack>
void each_member_of_claim(Object& claim, Pack& pack) {
  auto& [namespace_name, name, uid, version, storage_class, node, volume, mode, requested, phase,
         capacity, allocated, resize_status, resize_error, conditions, access_modes, attributes,
         data_source, selector, pending, deleting, marked] = claim;
  pack.symbol(namespace_name), pack.text(name), pack.text(uid), pack.text(version);
  pack.symbol(storage_class), pack.symbol(node), pack.text(volume), pack.symbol(mode);
  pack.symbol(requested), pack.symbol(phase), pack.symbol(capacity), pack.symbol(allocated);
  pack.symbol(resize_status), pack.symbol(resize_error);
  member(pack, conditions), pack.symbols(access_modes), pack.symbol(attributes);
  pack.integer(data_source), pack.integer(selector), pack.integer(pending);
  pack.integer(deleting), pack.integer(marked);
}

// All but the order.
template <typename Object, typename Pack>
void each_member_of_volume(Object& volume, Pack& pack) {
  auto& [name, uid, version, phase, policy, provisioned_by, node, driver, node_uid, storage_class,
         claim_namespace, claim_name, claim_uid, capacity, order, copy, finalizers, access_modes,
         deleting, migrated] = volume;
  pack.text(name), pack.text(uid), pack.text(version), pack.symbol(phase), pack.symbol(policy);
  pack.symbol(provisioned_by), pack.symbol(node), pack.symbol(driver), pack.symbol(node_uid);
  pack.symbol(storage_class), pack.symbol(claim_namespace), pack.text(claim_name);
  pack.text(claim_uid), pack.symbol(capacity), pack.text(copy);
  pack.symbols(finalizers), pack.symbols(access_modes);
  pack.integer(deleting), pack.integer(migrated);
}

}  // namespace

void Claim::pack(kube::Packer& packer) const { each_member_of_claim(*this, packer); }

Claim Claim::unpack(kube::Unpacker& unpacker) {
  Claim claim;
  each_member_of_claim(claim, unpacker);
  return claim;
}

void Volume::pack(kube::Packer& packer) const {
  each_member_of_volume(*this, packer);
  provisioner::pack(packer, order);
}

Volume Volume::unpack(kube::Unpacker& unpacker) {
  Volume volume;
  each_member_of_volume(volume, unpacker);
  volume.order = unpack_order(unpacker);
  return volume;
}

}  // namespace flexlocal::provisioner
