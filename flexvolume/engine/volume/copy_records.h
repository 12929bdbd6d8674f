// What the orders of copies change in the host's records alone: no device and no folder is touched,
// and no program is started. Each call takes the volume's lock, writes synced, and may be repeated
// after a success, a failure or a kill.
#pragma once

#include <string>

#include "flexvolume/engine/volume/record.h"

namespace flexlocal::engine {

// What an order says of a copy, as far as the record keeps it.
struct OrderedCopy {
  VolumeSpec spec;
  std::string claim_uid{};  // of the claim that may mount it; empty: nobody may
  bool retained = false;    // counts for what is not made: else tags have to say it, too
  FollowedOrder order{};
};

class CopyRecords {
 public:
  CopyRecords(const RecordStore& records, std::string locks)
      : records_(records), locks_(std::move(locks)) {}

  // The promise of a copy that nobody has promised. One that is there by the same object is the
  // answer; kConflict when there is any other record.
  Result<Record> promise(const OrderedCopy& ordered) const;

  // Brings the record to what is ordered now: the claim, its access mode, limits and mount options,
  // and which order that is. kNotFound without a record, kDenied when it is of another copy, claim
  // or namespace, or a folder where a device is ordered, kConflict when it was refused or its
  // removal has begun, kInvalid when what is ordered could not be read again.
  Result<Record> follow(const OrderedCopy& ordered) const;

  // Turns a promise of which nothing was made into a refusal: from then on no mount makes it.
  // kNotFound without a record, kDenied when it is of another copy, kConflict once it was begun.
  Result<Record> refuse(const VolumeSpec& spec) const;

  // Takes away a promise or a refusal of that copy. What is gone is done; kDenied when the record
  // is of another copy, kConflict once the volume was begun.
  Status withdraw(const VolumeSpec& spec) const;

 private:
  const RecordStore& records_;
  std::string locks_;
};

}  // namespace flexlocal::engine
