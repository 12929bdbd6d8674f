// Volumes that a host's record promises, under names as short as tests like them.
#pragma once

#include <functional>
#include <string>

#include "flexvolume/base/text.h"
#include "provisioner/accounting/room.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

// The uid of a claim, another one for each word.
inline std::string uid_called(const std::string& word) {
  const std::string digits = std::to_string(std::hash<std::string>()(word) % 1'000'000'000'000);
  return concat("00000000-0000-4000-8000-", std::string(12 - digits.size(), '0'), digits);
}

inline std::string volume_called(const std::string& word) {
  return concat("pvc-", uid_called(word));
}

// The same promise, of the volume that is called so.
inline Promise called(Promise promise) {
  promise.name = volume_called(promise.name);
  return promise;
}

// The record of that volume.
inline engine::Record record_called(const Promise& promise, engine::RecordState state) {
  const std::string uid = uid_called(promise.name);
  engine::VolumeSpec spec = sample_spec(uid, promise.size);
  spec.backend = promise.backend;
  spec.pool = promise.pool;
  engine::Record record = engine::promised_record(spec, uid);
  record.state = state;
  return record;
}

}  // namespace flexlocal::provisioner::test
