// The record of a volume on this host: what makes a repeated mount possible without LVM, and
// what tells a killed call's leftovers from data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flexvolume/base/result.h"
#include "flexvolume/engine/contract/contract.h"

namespace flexlocal::engine {

inline constexpr std::string_view kRecordFolder = "/var/lib/flexlocal/volumes";

// In the order of a volume's life.
enum class RecordState {
  kRefused,   // the promise could not be kept, and no pod had mounted the volume: nothing is made
  kPromised,  // the node daemon decided that the volume is to be here; nothing is made yet
  kIntent,    // lvcreate is about to run; an LV tagged with `attempt` was made by that very call
  kNew,       // the LV is there and wiped, the file system is not proven complete
  kReady,     // the file system was complete; from now on nothing may format it
  kWiping     // its removal has begun; from now on nothing may mount it
};
std::string_view to_string(RecordState state);

// Whether nothing of the volume is made, and nothing was.
constexpr bool is_unmade(RecordState state) { return state <= RecordState::kPromised; }

// The object of the API server's that ordered the copy, as it was when it was followed last.
struct FollowedOrder {
  std::string uid{};            // empty: no order is known
  std::int64_t generation = 0;  // of its spec
  std::int64_t term = 0;        // of the leader that gave it
  std::string claim_name{};     // in the namespace of the spec; empty: it named none

  bool operator==(const FollowedOrder&) const = default;
};

struct Record {
  // As it was ordered. A mount goes by it alone.
  VolumeSpec spec;
  RecordState state = RecordState::kIntent;
  std::string attempt{};      // random, one for every lvcreate
  std::string device_uuid{};  // device-mapper's uuid of the LV; empty in kIntent
  std::string volume_group{};
  std::uint32_t project_id = 0;   // of a quota folder; never 0 then
  bool grow_file_system = false;  // the device has grown and the file system has not yet
  Bytes wiped{};                  // kWiping: how much of the device is zero by now
  bool retained = false;          // see Retained; an LV's tags say it, too
  // A pod may have had it: it was about to be mounted, or was there before this record. False only
  // since the very call that made it, and in a record of then that was put back, for which the node
  // daemon keeps elsewhere as well that a pod has had it.
  bool used = true;
  // Of the claim that may mount it, and for which the spec's access mode is. Empty: nobody may. The
  // volume was released; or the record was made anew from tags, which do not say all of the spec.
  std::string claim_uid{};
  FollowedOrder order{};
};

// The promise of a volume. Without one, or a later record, nothing makes a volume: what is neither
// promised nor there was lost with its host, or removed, and must not come back empty.
// `claim_uid`: as in the record.
Record promised_record(const VolumeSpec& spec, const std::string& claim_uid);
// The refusal to make it: kNotFound.
Error unpromised(const VolumeName& name);
// The refusal to make what could not be made before and was given up: kUnavailable.
Error given_up(const VolumeName& name);

std::string to_json(const Record& record);
// kCorrupt when it is not a whole record of a version that is known.
Result<Record> parse_record(std::string_view json);

// One file a volume, named after it. A save is atomic and synced before it returns.
class RecordStore {
 public:
  explicit RecordStore(std::string folder = std::string(kRecordFolder))
      : folder_(std::move(folder)) {}

  // Of pools' shared file systems, beside those of volumes.
  RecordStore of_pools() const;

  // Nothing when there is no record. kCorrupt when there is one that cannot be understood: then
  // a person must look, since guessing could format data.
  Result<std::optional<Record>> load(const VolumeName& name) const;
  Status save(const Record& record) const;
  Status remove(const VolumeName& name) const;
  // The volumes that have a record, in no order. Other files are not ours and are passed over.
  Result<std::vector<VolumeName>> names() const;

 private:
  std::string path_of(const VolumeName& name) const;
  std::string folder_;
};

}  // namespace flexlocal::engine
