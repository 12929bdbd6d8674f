#include "flexvolume/cli/status.h"

#include "flexvolume/base/text.h"
#include "flexvolume/cli/listing.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::cli {
namespace {

constexpr std::size_t kKeyWidth = 14;

void add_line(std::string& text, std::string_view key, const std::string& value) {
  if (value.empty()) return;
  text += concat(key, std::string(kKeyWidth - key.size(), ' '), printable(value, 1000), '\n');
}

std::string size_text(Bytes size) {
  return size.count() == 0 ? std::string() : concat(to_string(size), " (", size.count(), ')');
}

std::string usage_text(const Usage& usage) {
  return concat(to_string(usage.used), " of ", to_string(usage.size), " used");
}

std::string record_text(const engine::Record& record) {
  std::string text =
      concat(to_string(record.state), ", decided size ", to_string(record.spec.size));
  if (record.project_id != 0) text += concat(", project id ", record.project_id);
  if (!record.claim_uid.empty()) text += concat(", ", to_string(record.spec.access_mode));
  if (!record.device_uuid.empty()) text += concat(", device ", record.device_uuid);
  return text;
}

std::string tags_text(const engine::Ownership& tags) {
  return concat(tags.wiping ? "wiping" : (tags.ready ? "ready" : "new"), ", decided size ",
                to_string(tags.size), ", onDelete ", to_string(tags.on_delete));
}

// "read 100 IOPS, write 1 MiB/s"; empty without a limit.
std::string limits_text(const engine::IoLimits& limits) {
  std::vector<std::string> texts;
  if (limits.read_iops != 0) texts.push_back(concat("read ", limits.read_iops, " IOPS"));
  if (limits.write_iops != 0) texts.push_back(concat("write ", limits.write_iops, " IOPS"));
  for (const auto& [what, limit] :
       {std::pair<std::string_view, Bytes>("read ", limits.read_bandwidth),
        {"write ", limits.write_bandwidth}})
    if (limit.count() != 0) texts.push_back(concat(what, to_string(limit), "/s"));
  return join(texts, ", ");
}

void write_limits(JsonWriter& json, const engine::IoLimits& limits) {
  json.key("ioLimits").begin_object();
  for (const auto& [key, limit] :
       {std::pair<std::string_view, std::uint64_t>("readIOPS", limits.read_iops),
        {"writeIOPS", limits.write_iops},
        {"readBandwidth", limits.read_bandwidth.count()},
        {"writeBandwidth", limits.write_bandwidth.count()}}) {
    json.key(key);
    if (limit == 0)
      json.null();
    else
      json.integer(static_cast<std::int64_t>(limit));
  }
  json.end_object();
}

void write_record(JsonWriter& json, const VolumeView& view) {
  json.key("record");
  if (!view.record) {
    json.null();
    return;
  }
  json.begin_object()
      .member("state", to_string(view.record->state))
      .member("deviceUUID", printable(view.record->device_uuid))
      .member("copy", view.record->spec.copy)
      .key("sizeBytes")
      .integer(static_cast<std::int64_t>(view.record->spec.size.count()))
      .key("projectID")
      .integer(view.record->project_id)
      .key("accessMode");
  if (view.record->claim_uid.empty())
    json.null();
  else
    json.string(to_string(view.record->spec.access_mode));
  json.end_object();
}

void write_logical_volume(JsonWriter& json, const VolumeView& view) {
  json.key("logicalVolume");
  if (!view.lv) {
    json.null();
    return;
  }
  const engine::LogicalVolume& lv = *view.lv;
  json.begin_object()
      .member("uuid", printable(lv.uuid))
      .member("deviceUUID", printable(lv.device_uuid))
      .key("active")
      .boolean(lv.active)
      .key("inUse")
      .boolean(lv.open)
      .key("ours")
      .boolean(lv.ownership.has_value());
  json.key("tagged");
  if (lv.ownership)
    json.string(lv.ownership->wiping ? "wiping" : (lv.ownership->ready ? "ready" : "new"));
  else
    json.null();
  json.key("onDelete");
  if (lv.ownership)
    json.string(to_string(lv.ownership->on_delete));
  else
    json.null();
  json.end_object();
}

}  // namespace

std::string status_text(const VolumeView& view, const std::vector<Finding>& findings) {
  std::string text;
  add_line(text, "name", view.name);
  add_line(text, "state", state_text(view));
  add_line(text, "claim", joined(claim_namespace_of(view), claim_uid_of(view)));
  add_line(text, "cluster", cluster_id_of(view));
  add_line(text, "backend", backend_of(view));
  add_line(text, "pool/group", joined(pool_of(view), group_of(view)));
  add_line(text, "file system", fs_type_of(view));
  add_line(text, "size", size_text(size_of(view)));
  add_line(text, "device", device_of(view));
  if (view.lv) add_line(text, "LV uuid", view.lv->uuid);
  if (view.lv && view.lv->ownership) add_line(text, "tags", tags_text(*view.lv->ownership));
  if (view.record) add_line(text, "record", record_text(*view.record));
  for (const MountPlace& place : view.mounts)
    add_line(text, "mounted",
             concat(place.path, place.usage ? concat(", ", usage_text(*place.usage)) : ""));
  add_line(text, "I/O limits", limits_text(view.io_limits));
  return concat(text, '\n', to_text(findings));
}

std::string status_json(const VolumeView& view, const std::vector<Finding>& findings) {
  JsonWriter json;
  json.begin_object();
  write_members(json, view);
  write_record(json, view);
  write_logical_volume(json, view);
  write_limits(json, view.io_limits);
  json.key("findings");
  write_json(json, findings);
  json.end_object();
  return json.take() + '\n';
}

}  // namespace flexlocal::cli
