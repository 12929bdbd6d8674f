#include "provisioner/controller/claims/serving_copy.h"

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {

KnownCopy copy_of(const Volume& volume, const std::vector<KnownCopy>& copies) {
  const std::string name = copy_name(volume.name, volume.copy);
  return first_of(copies, [&](const VolumeCopy& copy) { return copy.name == name; });
}

bool is_to_serve(const VolumeCopy& copy) {
  return copy.order && copy.order->desired == DesiredState::kServing && !copy.deleting;
}

bool is_found(const VolumeCopy& copy) { return copy.order->origin != Origin::kNew; }

KnownCopy serving_of(const std::vector<KnownCopy>& copies) {
  const auto rank = [](const VolumeCopy& copy) {
    return (is_found(copy) ? 2 : 0) + (copy.status.promised ? 1 : 0);
  };
  KnownCopy best;
  for (const KnownCopy& copy : copies)
    if (is_to_serve(*copy) && (best == nullptr || rank(*copy) > rank(*best))) best = copy;
  return best;
}

std::string reason_of(const VolumeCopy& copy) {
  for (const CopyCondition& condition : copy.status.conditions)
    if (!condition.holds && !condition.message.empty()) return condition.message;
  return "it gave no reason";
}

std::string words_of_silence(const VolumeCopy& copy) {
  const std::string& node = copy.order->node;
  if (copy.status.conditions.empty())
    return concat("the node daemon of node ", node, " has not answered for ", kOrderTimeout.count(),
                  " s");
  return concat("node ", node, " has not taken the volume for ", kOrderTimeout.count(),
                " s: ", reason_of(copy));
}

}  // namespace flexlocal::provisioner
