#include "provisioner/objects/claim_patch.h"

#include "flexvolume/base/json.h"

namespace flexlocal::provisioner {

std::string patch_with_selected_node(const Claim& claim, const std::string& node) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", claim.resource_version).key("annotations").begin_object();
  json.member(kSelectedNode, node).end_object().end_object().end_object();
  return json.take();
}

std::string patch_without_selected_node(const Claim& claim) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", claim.resource_version).key("annotations").begin_object();
  json.key(kSelectedNode).null().end_object().end_object().end_object();
  return json.take();
}

}  // namespace flexlocal::provisioner
