#include "flexvolume/engine/volume/record.h"

#include <filesystem>
#include <system_error>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr std::int64_t kVersion = 1;

std::optional<RecordState> parse_state(std::string_view text) {
  for (const RecordState state : {RecordState::kPromised, RecordState::kIntent, RecordState::kNew,
                                  RecordState::kReady, RecordState::kWiping})
    if (text == to_string(state)) return state;
  return std::nullopt;
}

bool is_whole(const Record& record) {
  if (!is_uuid(record.cluster_id) || !is_dns_label(record.claim_namespace)) return false;
  if (record.state == RecordState::kPromised) return true;
  if (record.backend == Backend::kQuota) return record.project_id != 0;
  return is_lvm_name(record.volume_group) &&
         (record.state == RecordState::kIntent || record.device_uuid.starts_with("LVM-"));
}

// A number written as text, as sizes are; a missing one is zero: older records have none.
bool read_count(JsonView value, unsigned long long most, unsigned long long& out) {
  out = 0;
  return !value.exists() || parse_number(value.text(), most, out);
}

// A mode without its claim, or a claim without its mode, is no promise.
Result<PromisedAccess> read_access(JsonView root) {
  if (!root["accessMode"].exists() && !root["accessClaim"].exists()) return PromisedAccess();
  const auto mode = parse_access_mode(root["accessMode"].text());
  std::string claim(root["accessClaim"].text());
  if (!mode || !is_uuid(claim))
    return Error(ErrorCode::kCorrupt, "accessMode or accessClaim is damaged");
  return PromisedAccess{*mode, std::move(claim)};
}

// What records of the first version do not have.
Status read_later_fields(JsonView root, Record& record) {
  unsigned long long project = 0;
  unsigned long long wiped = 0;
  if (!read_count(root["projectID"], UINT32_MAX, project) ||
      !read_count(root["wiped"], kMostBytes.count(), wiped))
    return Error(ErrorCode::kCorrupt, "projectID or wiped is damaged");
  if (root["backend"].exists()) {
    const auto backend = parse_backend(root["backend"].text());
    if (!backend) return Error(ErrorCode::kCorrupt, "backend is damaged");
    record.backend = *backend;
  }
  record.project_id = static_cast<std::uint32_t>(project);
  record.wiped = Bytes(wiped);
  record.grow_file_system = root["growFileSystem"].boolean().value_or(false);
  record.retained = root["retained"].boolean().value_or(false);
  auto access = read_access(root);
  if (!access) return access.error();
  record.access = std::move(*access);
  return {};
}

}  // namespace

std::string_view to_string(RecordState state) {
  switch (state) {
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

Record promised_record(const VolumeSpec& spec, const PromisedAccess& access) {
  return {.name = spec.name,
          .state = RecordState::kPromised,
          .cluster_id = spec.cluster_id,
          .claim_namespace = spec.claim_namespace,
          .fs_type = spec.fs_type,
          .size = spec.size,
          .backend = spec.backend,
          .access = access};
}

Error unpromised(const VolumeSpec& spec) {
  return Error(ErrorCode::kNotFound,
               concat("volume ", spec.name.text(),
                      " is not on this node, and the node daemon has not promised it here; it is "
                      "not made anew and empty: was this node set up again? If the data is gone "
                      "for good, delete the claim"));
}

std::string to_json(const Record& record) {
  JsonWriter writer;
  writer.begin_object().key("version").integer(kVersion);
  writer.member("name", record.name.text())
      .member("state", to_string(record.state))
      .member("attempt", record.attempt)
      .member("deviceUUID", record.device_uuid)
      .member("volumeGroup", record.volume_group)
      .member("clusterID", record.cluster_id)
      .member("claimNamespace", record.claim_namespace)
      .member("fsType", to_string(record.fs_type))
      .member("size", concat(record.size.count()))
      .member("backend", to_string(record.backend));
  if (record.project_id != 0) writer.member("projectID", concat(record.project_id));
  if (record.grow_file_system) writer.key("growFileSystem").boolean(true);
  if (record.retained) writer.key("retained").boolean(true);
  if (!record.access.claim_uid.empty())
    writer.member("accessMode", to_string(record.access.mode))
        .member("accessClaim", record.access.claim_uid);
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
  auto name = VolumeName::parse_any(root["name"].text());
  const auto state = parse_state(root["state"].text());
  const auto fs_type = parse_fs_type(root["fsType"].text());
  unsigned long long size = 0;
  const bool sized = parse_number(root["size"].text(), kMostBytes.count(), size) && size > 0;
  if (!name || !state || !fs_type || !sized)
    return Error(ErrorCode::kCorrupt, "name, state, fsType or size is damaged");
  Record record{.name = std::move(*name),
                .state = *state,
                .attempt = std::string(root["attempt"].text()),
                .device_uuid = std::string(root["deviceUUID"].text()),
                .volume_group = std::string(root["volumeGroup"].text()),
                .cluster_id = std::string(root["clusterID"].text()),
                .claim_namespace = std::string(root["claimNamespace"].text()),
                .fs_type = *fs_type,
                .size = Bytes(size)};
  if (auto read = read_later_fields(root, record); !read) return read.error();
  if (!is_whole(record)) return Error(ErrorCode::kCorrupt, "a field is damaged");
  return record;
}

RecordStore RecordStore::of_pools() const {
  return RecordStore(concat(folder_.substr(0, folder_.rfind('/')), "/pools"));
}

std::string RecordStore::path_of(const VolumeName& name) const {
  return concat(folder_, '/', name.text());
}

Result<std::optional<Record>> RecordStore::load(const VolumeName& name) const {
  const std::string path = path_of(name);
  const auto text = read_file(path, Bytes(64 * kKiB.count()));
  if (!text) {
    if (text.error().code() == ErrorCode::kNotFound) return std::optional<Record>();
    return text.error();
  }
  auto record = parse_record(*text);
  if (record && !(record->name == name))
    record = Error(ErrorCode::kCorrupt, "it is of another volume");
  if (!record) return record.error().context(concat("record ", path));
  return std::optional(std::move(*record));
}

Status RecordStore::save(const Record& record) const {
  auto written = write_file_atomically(path_of(record.name), to_json(record), 0600);
  if (written || written.error().code() != ErrorCode::kNotFound) return written;
  if (auto made = make_folders(folder_); !made) return made;
  return write_file_atomically(path_of(record.name), to_json(record), 0600);
}

Status RecordStore::remove(const VolumeName& name) const { return remove_file(path_of(name)); }

Result<std::vector<VolumeName>> RecordStore::names() const {
  std::vector<VolumeName> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    auto name = VolumeName::parse(entry->path().filename().string());
    if (name) names.push_back(std::move(*name));
  }
  // A folder that is not there yet has no records.
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), concat("listing ", folder_));
  return names;
}

}  // namespace flexlocal::engine
