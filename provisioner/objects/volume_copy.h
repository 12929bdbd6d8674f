// A VolumeCopy: one volume's data on one node. Its spec is the order, which the controller writes;
// its status is what the agent of that node answers. The schema that the API server holds it to is
// examples/install/core/volumecopy.yaml.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "provisioner/objects/copy_order.h"
#include "provisioner/objects/copy_status.h"

namespace flexlocal::provisioner {

inline constexpr std::string_view kCopyGroupVersion = "flexlocal.io/v1alpha1";
inline constexpr std::string_view kCopyResource = "volumecopies";

// Of a copy that nobody ordered and that was found on its node: "namespace/name" of the claim that
// gets no new volume while the annotation is there, for an earlier claim of that name had this one.
inline constexpr std::string_view kHoldsAnnotation = "flexlocal.io/holds";

// Of a copy that no pod has had: another has its place, with its PersistentVolume. Together with
// desiredState Withdrawn, for good.
inline constexpr std::string_view kGivenUpAnnotation = "flexlocal.io/given-up";

struct VolumeCopy {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool deleting = false;
  std::string agent{};    // the node whose agent finds it by its label; empty: it has none
  std::string holds{};    // see kHoldsAnnotation
  bool given_up = false;  // see kGivenUpAnnotation
  // kInvalid, in words, when this version does not understand all of it: nothing of it is then to
  // be carried out.
  Result<CopyOrder> order;
  CopyStatus status;

  // For stores: see kube::Packable.
  void pack(kube::Packer& packer) const;
  static VolumeCopy unpack(kube::Unpacker& unpacker);
};

// One that is known, as it was when it was looked up; nullptr: there is none.
using KnownCopy = std::shared_ptr<const VolumeCopy>;

// Whether this version knows all of its order, and the state that its node says: what it does not
// is left as it is.
inline bool is_understood(const VolumeCopy& copy) {
  return copy.order && copy.status.state != CopyState::kUnknown;
}
// What of such a one is not, for a person: "its order: spec.x is not known ...".
std::string what_is_unknown(const VolumeCopy& copy);
// The same of the leader, which leaves it alone: a whole sentence.
std::string words_of_unknown(const VolumeCopy& copy);

// Pods may have written to it: it was made, or ordered because it is there, though its node may not
// have said so yet. `copy.order` is there.
inline bool was_made_or_found(const VolumeCopy& copy) {
  return copy.status.made || copy.order->origin != Origin::kNew;
}

inline bool is_withdrawn(const VolumeCopy& copy) {
  return copy.order && copy.order->desired == DesiredState::kWithdrawn;
}

// Its node has answered the order as it is.
inline bool is_answered(const VolumeCopy& copy) {
  return copy.status.observed_generation >= copy.generation;
}

// No pod has had it, and none can: its order was withdrawn, and by its node's answer nothing of it
// is left.
inline bool is_gone_unused(const VolumeCopy& copy) {
  return is_withdrawn(copy) && copy.status.state == CopyState::kRemoved && is_answered(copy);
}

// Its order was withdrawn, and by its node's answer a pod may have had it: it is kept, or lost.
inline bool is_kept(const VolumeCopy& copy) {
  return is_withdrawn(copy) && is_answered(copy) &&
         (copy.status.state == CopyState::kRetained || copy.status.state == CopyState::kLost ||
          copy.status.state == CopyState::kRefused);
}

// The mark counts where no pod can have had it: it is an annotation, which anybody may have set.
inline bool is_given_up(const VolumeCopy& copy) {
  return copy.given_up && is_withdrawn(copy) && (is_gone_unused(copy) || !was_made_or_found(copy));
}

// "pvc-<uid>-<copy>".
std::string copy_name(const std::string& volume, const std::string& copy);
std::string copy_name(const engine::VolumeSpec& volume);
inline std::string copy_name(const CopyOrder& order) { return copy_name(order.volume); }
// What such a name begins with.
std::string volume_of_copy(const std::string& name);

// nullopt when it has no name.
std::optional<VolumeCopy> decode_copy(JsonView object);

// The object to create. `holds`: its annotation; empty: it has none.
std::string copy_json(const CopyOrder& order, const std::string& holds = {});
// The merge patch that makes `order` the order of `known`, if that still has its version. What a
// copy is never changes: the API server refuses that, since 1.25. `mark`: an annotation that says
// why, kGivenUpAnnotation; empty: none.
std::string order_patch(const VolumeCopy& known, const CopyOrder& order,
                        std::string_view mark = {});
// The merge patch of the status, for the subresource, if `known` still has its version: an answer
// to an object that was made anew under its name, or to an order that has changed, is refused
// (kConflict).
std::string status_patch(const VolumeCopy& known, const CopyStatus& status);

}  // namespace flexlocal::provisioner
