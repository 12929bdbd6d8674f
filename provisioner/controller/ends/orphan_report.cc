#include "provisioner/controller/ends/orphan_report.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/node_object.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kOrphaned = "OrphanedVolume";

std::string place_text(const CopyOrder& order) {
  return concat("volume ", order.volume.name.text(), " (", to_string(order.volume.size),
                ", namespace ", order.volume.claim_namespace,
                order.claim_name.empty() ? "" : ", claim ", order.claim_name, ") on node ",
                order.node);
}

}  // namespace

void OrphanReport::report(const Orphan& orphan, const std::string& what) {
  const CopyOrder& order = orphan.order;
  const std::string name = copy_name(order);
  std::string text = place_text(order) + what;
  if (orphan.object)
    text += concat(". A person removes it by spec.desiredState=Removed of VolumeCopy ", name);
  if (!is_new(name, text)) return;
  log_.warning("orphaned volume", {{"copy", name}, {"node", order.node}});
  record_event(order, kube::EventType::kWarning, kOrphaned, text);
}

void OrphanReport::report_to_claim(const Claim& claim, const CopyOrder& order) {
  const std::string text =
      concat("PersistentVolume ", order.volume.name.text(),
             " was deleted while this claim exists; its data, ", place_text(order),
             ", stays as long as the claim does: copy it away before the claim is deleted, or "
             "create the PersistentVolume again as it was");
  if (!is_new(copy_name(order), text)) return;
  log_.warning("a claim has lost its PersistentVolume; its data stays",
               {{"namespace", claim.namespace_name},
                {"claim", claim.name},
                {"volume", order.volume.name.text()}});
  events_.record(claim, kube::EventType::kWarning, kOrphaned, text);
}

void OrphanReport::report_removing(const CopyOrder& order) {
  log_.warning("orphaned volume is being removed",
               {{"copy", copy_name(order)}, {"node", order.node}});
}

void OrphanReport::report_removed(const CopyOrder& order) {
  record_event(order, kube::EventType::kNormal, "OrphanedVolumeDeleted",
               concat(place_text(order), " had neither PersistentVolume nor claim and is removed"));
}

void OrphanReport::report_stuck(const CopyOrder& order, const std::string& why) {
  const std::string text = concat(place_text(order), " is not removed: ", why);
  if (is_new(copy_name(order), text))
    record_event(order, kube::EventType::kWarning, kOrphaned, text);
}

// From now on it was told.
bool OrphanReport::is_new(const std::string& name, const std::string& text) {
  if (!ages_.knows(name)) return false;
  const auto now = clock_.now();
  Told& told = told_[name];
  if (told.text == text && now - told.at < kOrphanReportInterval) return false;
  told = {text, now};
  return true;
}

void OrphanReport::record_event(const CopyOrder& order, kube::EventType type,
                                std::string_view reason, const std::string& message) {
  const NodeIdentity node{order.node, order.hostname, order.node_uid};
  events_.record(reference_to(node), type, reason, message);
}

void OrphanReport::forget_unless(const std::function<bool(const std::string& name)>& is_there) {
  std::erase_if(told_, [&](const auto& told) { return !is_there(told.first); });
}

}  // namespace flexlocal::provisioner
