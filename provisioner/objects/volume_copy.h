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

// Of a copy that its node promised and could not make: another has its place, with its
// PersistentVolume. Together with desiredState Removed, for good.
inline constexpr std::string_view kGivenUpAnnotation = "flexlocal.io/given-up";

// Of a copy that nobody seems to need, and of which its node has not said that it was ever made: a
// pod may have had it made since. By desiredState Retained no pod gets it any more, and by its
// node's answer to that it is known whether it was made. The generation of the order that asks is
// its value: whatever is ordered later, by a person as well, is no question.
inline constexpr std::string_view kInQuestionAnnotation = "flexlocal.io/in-question";

struct VolumeCopy {
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool deleting = false;
  std::string agent{};       // the node whose agent finds it by its label; empty: it has none
  std::string holds{};       // see kHoldsAnnotation
  bool given_up = false;     // see kGivenUpAnnotation
  bool in_question = false;  // see kInQuestionAnnotation
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

// Pods may have written to it: it was made, or ordered because it is there, though its node may not
// have said so yet. `copy.order` is there.
inline bool was_made_or_found(const VolumeCopy& copy) {
  return copy.status.made || copy.order->origin != Origin::kNew;
}

// The mark counts where nothing was ever made: it is an annotation, which anybody may have set.
inline bool is_given_up(const VolumeCopy& copy) {
  return copy.given_up && copy.order && copy.order->desired == DesiredState::kRemoved &&
         !was_made_or_found(copy);
}

// No pod has had it, and none can: its order was withdrawn, and by its node's answer to that
// nothing is there, and nothing was ever made.
inline bool is_gone_unmade(const VolumeCopy& copy) {
  return copy.order && copy.order->desired == DesiredState::kRemoved &&
         copy.status.state == CopyState::kRemoved &&
         copy.status.observed_generation >= copy.generation && !was_made_or_found(copy);
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
// why, kGivenUpAnnotation or kInQuestionAnnotation; empty: none.
std::string order_patch(const VolumeCopy& known, const CopyOrder& order,
                        std::string_view mark = {});
// The merge patch of the status, for the subresource, if `known` still has its version: an answer
// to an object that was made anew under its name, or to an order that has changed, is refused
// (kConflict).
std::string status_patch(const VolumeCopy& known, const CopyStatus& status);

}  // namespace flexlocal::provisioner
