#include "provisioner/objects/volume_copy.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {
namespace {

// What the API server cannot hold an object to, or an older one does not: that it is what its name
// and its label, by which agents find it, say.
Result<CopyOrder> order_of(const VolumeCopy& copy, JsonView object) {
  auto order = parse_order(object["spec"]);
  if (!order) return order;
  if (copy.name != copy_name(*order))
    return Error(ErrorCode::kInvalid,
                 concat("its name is not ", copy_name(*order), ", which is that of its spec"));
  if (copy.agent != order->node)
    return Error(ErrorCode::kInvalid, concat("its label ", kNodeLabel, " is not ", order->node,
                                             ", the node of its spec"));
  return order;
}

// The version alone guards: the API server compares no uid in a patch of a custom resource's
// status.
void begin_metadata(JsonWriter& json, const VolumeCopy& known) {
  json.begin_object().key("metadata").begin_object().member("uid", known.uid);
  json.member("resourceVersion", known.resource_version);
}

void begin_patch(JsonWriter& json, const VolumeCopy& known) {
  begin_metadata(json, known);
  json.end_object();
}

}  // namespace

std::string copy_name(const std::string& volume, const std::string& copy) {
  return concat(volume, '-', copy);
}

std::string copy_name(const engine::VolumeSpec& volume) {
  return copy_name(volume.name.text(), volume.copy);
}

std::string what_is_unknown(const VolumeCopy& copy) {
  if (!copy.order) return concat("its order: ", copy.order.error().message());
  return "status.state, which this version of flexlocal does not know";
}

std::string words_of_unknown(const VolumeCopy& copy) {
  return concat("VolumeCopy ", copy.name, " is left as it is, for ", what_is_unknown(copy),
                "; update flexlocal-provisioner");
}

std::string volume_of_copy(const std::string& name) { return name.substr(0, name.rfind('-')); }

std::optional<VolumeCopy> decode_copy(JsonView object) {
  const JsonView meta = object["metadata"];
  if (meta["name"].text().empty()) return std::nullopt;
  VolumeCopy copy{.name = std::string(meta["name"].text()),
                  .uid = std::string(meta["uid"].text()),
                  .resource_version = std::string(meta["resourceVersion"].text()),
                  .generation = meta["generation"].integer().value_or(0),
                  .deleting = meta["deletionTimestamp"].exists(),
                  .agent = std::string(meta["labels"][kNodeLabel].text()),
                  .holds = std::string(meta["annotations"][kHoldsAnnotation].text()),
                  .given_up = meta["annotations"][kGivenUpAnnotation].exists(),
                  .order = Error(ErrorCode::kInvalid, "not read yet"),
                  .status = parse_status(object["status"])};
  copy.order = order_of(copy, object);
  return copy;
}

std::string copy_json(const CopyOrder& order, const std::string& holds) {
  JsonWriter json;
  json.begin_object().member("apiVersion", kCopyGroupVersion).member("kind", "VolumeCopy");
  json.key("metadata").begin_object().member("name", copy_name(order));
  json.key("labels").begin_object().member(kNodeLabel, order.node).end_object();
  if (!holds.empty())
    json.key("annotations").begin_object().member(kHoldsAnnotation, holds).end_object();
  json.end_object();
  json.key("spec");
  write_order(json, order);
  json.end_object();
  return json.take();
}

std::string order_patch(const VolumeCopy& known, const CopyOrder& order, std::string_view mark) {
  JsonWriter json;
  begin_metadata(json, known);
  if (!mark.empty()) json.key("annotations").begin_object().member(mark, "true").end_object();
  json.end_object().key("spec");
  write_order(json, order);
  json.end_object();
  return json.take();
}

std::string status_patch(const VolumeCopy& known, const CopyStatus& status) {
  JsonWriter json;
  begin_patch(json, known);
  json.key("status");
  write_status(json, status);
  json.end_object();
  return json.take();
}

}  // namespace flexlocal::provisioner
