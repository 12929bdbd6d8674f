#include "flexvolume/engine/volume/record.h"

#include <filesystem>
#include <system_error>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"

namespace flexlocal::engine {

Record promised_record(const VolumeSpec& spec, const std::string& claim_uid) {
  return {.spec = spec, .state = RecordState::kPromised, .claim_uid = claim_uid};
}

Error unpromised(const VolumeName& name) {
  return Error(ErrorCode::kNotFound,
               concat("volume ", name.text(),
                      " has no record on this node: the node daemon has not promised it here, and "
                      "it is not made anew and empty. Was this node set up again? The node daemon "
                      "records anew what is on its disks, and its log says what it cannot; if the "
                      "data is gone for good, delete the claim"));
}

Error given_up(const VolumeName& name) {
  return Error(ErrorCode::kUnavailable,
               concat("volume ", name.text(),
                      " could not be made on this node, which gave it up; its order's status says "
                      "why, and the volume gets another place"));
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
  if (record && !(record->spec.name == name))
    record = Error(ErrorCode::kCorrupt, "it is of another volume");
  if (!record) return record.error().context(concat("record ", path));
  return std::optional(std::move(*record));
}

Status RecordStore::save(const Record& record) const {
  // What could not be read again would keep everybody from the volume.
  const std::string json = to_json(record);
  if (auto readable = parse_record(json); !readable)
    return Error(ErrorCode::kInvalid, concat("no record is written of ", record.spec.name.text(),
                                             ": ", readable.error().message()));
  auto written = write_file_atomically(path_of(record.spec.name), json, 0600);
  if (written || written.error().code() != ErrorCode::kNotFound) return written;
  if (auto made = make_folders(folder_); !made) return made;
  return write_file_atomically(path_of(record.spec.name), json, 0600);
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
