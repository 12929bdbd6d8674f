#include "provisioner/controller/publish/claim_taker.h"

#include <optional>

#include "provisioner/objects/claim_patch.h"
#include "provisioner/objects/class_parameters.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {

// Less what was taken and is not among the orders yet, which count by themselves.
Bytes ClaimTaker::room_of(const std::string& storage_class) const {
  const StorageClass* const known = view_.classes.get(storage_class);
  const auto parameters = known == nullptr ? std::nullopt : std::optional(parse_class(*known));
  if (!parameters || !*parameters) return {};
  Bytes room = own_room_(storage_class);
  for (const auto& [key, taken] : taken_)
    if (taken.pool == (*parameters)->pool && !is_ordered(key, taken)) room = room - taken.size;
  return room;
}

bool ClaimTaker::is_ordered(const std::string& key, const Taken& taken) const {
  if (!taken.written) return false;
  const auto claim = view_.claims.get(key);
  return claim == nullptr || claim->uid != taken.uid || !claim->volume_name.empty() ||
         claim->selected_node != view_.own_node ||
         !view_.copies.names_of(volume_of_claim(taken.uid)).empty();
}

Task<Status> ClaimTaker::refresh(const Claim& claim) {
  const std::string path = claim_path(claim);
  const auto object = co_await api_.get(path);
  // Its end comes by the watch.
  if (!object && object.error().code() != ErrorCode::kNotFound) co_return object.error();
  if (object) view_.claims.put(object->root());
  co_return Status();
}

Task<Result<ClaimTaker::Outcome>> ClaimTaker::take(const Claim& claim, const Order& order) {
  if (room_of(claim.storage_class) < order.requested) co_return Outcome::kNoRoom;
  // Nothing may be awaited between the look at the room and this.
  std::erase_if(taken_,
                [this](const auto& entry) { return is_ordered(entry.first, entry.second); });
  const std::string key = claim.key();
  taken_.insert_or_assign(key, Taken{claim.uid, order.parameters.pool, order.requested});
  const std::string path = claim_path(claim);
  const std::string body = patch_with_selected_node(claim, view_.own_node);
  const auto answer = co_await api_.merge_patch(path, body);
  if (!answer) co_return not_taken(claim, answer.error());
  view_.claims.put(answer->root());
  taken_.at(key).written = true;
  work_.claims_taken.with({}).add();
  log_.info("claim taken for this node",
            {{"namespace", claim.namespace_name}, {"claim", claim.name}});
  co_return Outcome::kTaken;
}

// Whoever was faster is seen by the watch. Any other answer may be one to what was carried out.
Result<ClaimTaker::Outcome> ClaimTaker::not_taken(const Claim& claim, const Error& why) {
  taken_.erase(claim.key());
  const bool conflict = why.code() == ErrorCode::kConflict;
  if (!conflict && why.code() != ErrorCode::kNotFound)
    return why.context("taking the claim for this node");
  if (conflict) work_.immediate_conflicts.with({}).add();
  return Outcome::kLost;
}

}  // namespace flexlocal::provisioner
