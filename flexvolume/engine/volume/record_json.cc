#include <array>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {
namespace {

constexpr std::int64_t kVersion = 2;

constexpr std::array kStates = {RecordState::kRefused, RecordState::kPromised,
                                RecordState::kIntent,  RecordState::kNew,
                                RecordState::kReady,   RecordState::kWiping};

Error damaged(std::string_view fields) {
  return Error(ErrorCode::kCorrupt, concat(fields, " is damaged"));
}

// A number written as text, as sizes are; a missing one is zero.
bool read_count(JsonView value, unsigned long long most, std::uint64_t& out) {
  unsigned long long count = 0;
  if (value.exists() && !parse_number(value.text(), most, count)) return false;
  out = count;
  return true;
}

bool read_bytes(JsonView value, Bytes& out) {
  std::uint64_t count = 0;
  if (!read_count(value, kMostBytes.count(), count)) return false;
  out = Bytes(count);
  return true;
}

template <typename Word>
bool read_word(Result<Word> parsed, Word& out) {
  if (parsed) out = *parsed;
  return parsed.ok();
}

bool read_limits(JsonView root, IoLimits& limits) {
  const JsonView required = root["ioLimits"];
  limits.required = required.text() == "required";
  return (limits.required || !required.exists()) &&
         read_count(root["readIOPS"], kMostBytes.count(), limits.read_iops) &&
         read_count(root["writeIOPS"], kMostBytes.count(), limits.write_iops) &&
         read_bytes(root["readBandwidth"], limits.read_bandwidth) &&
         read_bytes(root["writeBandwidth"], limits.write_bandwidth);
}

bool read_mount_options(JsonView list, VolumeSpec& spec) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view option = list.at(i).text();
    if (!check_mount_option(spec.backend, option)) return false;
    spec.mount_options.emplace_back(option);
  }
  return list.is_array() || !list.exists();
}

bool is_whose(const VolumeSpec& spec) {
  return is_uuid(spec.cluster_id) && is_dns_label(spec.claim_namespace) &&
         is_dns_label(spec.pool) &&
         (spec.name.is_of_pool() ? spec.copy.empty() : is_copy_id(spec.copy));
}

Result<VolumeSpec> read_spec(JsonView root) {
  auto name = VolumeName::parse_any(root["name"].text());
  if (!name) return damaged("name");
  VolumeSpec spec{.name = std::move(*name),
                  .copy = std::string(root["copy"].text()),
                  .cluster_id = std::string(root["clusterID"].text()),
                  .claim_namespace = std::string(root["claimNamespace"].text()),
                  .pool = std::string(root["pool"].text())};
  if (!is_whose(spec)) return damaged("copy, clusterID, claimNamespace or pool");
  if (!read_bytes(root["size"], spec.size) || spec.size == Bytes()) return damaged("size");
  if (!read_word(parse_backend(root["backend"].text()), spec.backend) ||
      !read_word(parse_fs_type(root["fsType"].text()), spec.fs_type) ||
      !read_word(parse_on_delete(root["onDelete"].text()), spec.on_delete) ||
      !read_word(parse_access_mode(root["accessMode"].text()), spec.access_mode))
    return damaged("backend, fsType, onDelete or accessMode");
  if (!read_limits(root, spec.limits)) return damaged("a limit");
  if (!read_mount_options(root["mountOptions"], spec)) return damaged("mountOptions");
  return spec;
}

bool read_order(JsonView order, FollowedOrder& followed) {
  if (!order.exists()) return true;
  followed = {.uid = std::string(order["uid"].text()),
              .generation = order["generation"].integer().value_or(-1),
              .term = order["term"].integer().value_or(-1),
              .claim_name = std::string(order["claim"].text())};
  return is_uuid(followed.uid) && followed.generation >= 0 && followed.term >= 0 &&
         (followed.claim_name.empty() || is_dns_subdomain(followed.claim_name));
}

bool is_whole(const Record& record) {
  if (!record.claim_uid.empty() && !is_uuid(record.claim_uid)) return false;
  if (is_unmade(record.state)) return true;
  if (record.spec.backend == Backend::kQuota) return record.project_id != 0;
  return is_lvm_name(record.volume_group) &&
         (record.state == RecordState::kIntent || record.device_uuid.starts_with("LVM-"));
}

bool read_progress(JsonView root, Record& record) {
  std::uint64_t project = 0;
  if (!read_count(root["projectID"], UINT32_MAX, project)) return false;
  record.project_id = static_cast<std::uint32_t>(project);
  record.grow_file_system = root["growFileSystem"].boolean().value_or(false);
  record.retained = root["retained"].boolean().value_or(false);
  record.used = root["used"].boolean().value_or(true);
  for (const RecordState state : kStates) {
    if (root["state"].text() != to_string(state)) continue;
    record.state = state;
    return read_bytes(root["wiped"], record.wiped);
  }
  return false;
}

void write_spec(JsonWriter& json, const VolumeSpec& spec) {
  const auto write_limit = [&](std::string_view key, std::uint64_t limit) {
    if (limit != 0) json.member(key, concat(limit));
  };
  json.member("copy", spec.copy)
      .member("clusterID", spec.cluster_id)
      .member("claimNamespace", spec.claim_namespace)
      .member("pool", spec.pool)
      .member("backend", to_string(spec.backend))
      .member("fsType", to_string(spec.fs_type))
      .member("size", concat(spec.size.count()))
      .member("onDelete", to_string(spec.on_delete))
      .member("accessMode", to_string(spec.access_mode));
  write_limit("readIOPS", spec.limits.read_iops);
  write_limit("writeIOPS", spec.limits.write_iops);
  write_limit("readBandwidth", spec.limits.read_bandwidth.count());
  write_limit("writeBandwidth", spec.limits.write_bandwidth.count());
  if (spec.limits.required) json.member("ioLimits", "required");
  if (spec.mount_options.empty()) return;
  json.key("mountOptions").begin_array();
  for (const std::string& option : spec.mount_options) json.string(option);
  json.end_array();
}

}  // namespace

std::string_view to_string(RecordState state) {
  switch (state) {
    case RecordState::kRefused:
      return "refused";
    case RecordState::kPromised:
      return "promised";
    case RecordState::kIntent:
      return "intent";
    case RecordState::kNew:
      return "new";
    case RecordState::kReady:
      return "ready";
    case RecordState::kWiping:
      return "wiping";
  }
  return "intent";
}

std::string to_json(const Record& record) {
  JsonWriter writer;
  writer.begin_object().key("version").integer(kVersion);
  writer.member("name", record.spec.name.text())
      .member("state", to_string(record.state))
      .member("attempt", record.attempt)
      .member("deviceUUID", record.device_uuid)
      .member("volumeGroup", record.volume_group);
  write_spec(writer, record.spec);
  if (!record.claim_uid.empty()) writer.member("claimUID", record.claim_uid);
  if (record.project_id != 0) writer.member("projectID", concat(record.project_id));
  if (record.grow_file_system) writer.key("growFileSystem").boolean(true);
  if (record.retained) writer.key("retained").boolean(true);
  if (!record.used) writer.key("used").boolean(false);
  if (!record.order.uid.empty()) {
    writer.key("order").begin_object().member("uid", record.order.uid);
    writer.key("generation").integer(record.order.generation);
    writer.key("term").integer(record.order.term);
    if (!record.order.claim_name.empty()) writer.member("claim", record.order.claim_name);
    writer.end_object();
  }
  if (record.wiped.count() != 0) writer.member("wiped", concat(record.wiped.count()));
  writer.end_object();
  return writer.take() + '\n';
}

Result<Record> parse_record(std::string_view json) {
  const auto document = JsonDocument::parse(json, {.bytes = 64U << 10U, .depth = 4});
  if (!document) return Error(ErrorCode::kCorrupt, document.error().message());
  const JsonView root = document->root();
  if (root["version"].integer() != kVersion)
    return Error(ErrorCode::kCorrupt,
                 "written by a version of flexlocal that this one does not know");
  auto spec = read_spec(root);
  if (!spec) return spec.error();
  Record record{.spec = std::move(*spec),
                .attempt = std::string(root["attempt"].text()),
                .device_uuid = std::string(root["deviceUUID"].text()),
                .volume_group = std::string(root["volumeGroup"].text()),
                .claim_uid = std::string(root["claimUID"].text())};
  if (!read_progress(root, record)) return damaged("state, projectID or wiped");
  if (!read_order(root["order"], record.order)) return damaged("order");
  if (!is_whole(record)) return Error(ErrorCode::kCorrupt, "a field is damaged");
  return record;
}

}  // namespace flexlocal::engine
