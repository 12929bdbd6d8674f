// The pages of a list on their way from the stream into the store.
#pragma once

#include "provisioner/kube/list_decoder.h"
#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/reflector.h"

namespace flexlocal::kube {

// Objects that do not concern us are passed over, as those of a watch are.
class ListIntake final : public ListItemSink {
 public:
  ListIntake(const ResourceKind& kind, ObjectSink& sink) : kind_(kind), sink_(sink) {}

  Status take(std::string_view item) override;

 private:
  const ResourceKind& kind_;
  ObjectSink& sink_;
  std::string room_;  // see without_managed_fields()
};

}  // namespace flexlocal::kube
