// A volume's record on the host: what tells data from leftovers, after any power cut.
#include "flexvolume/engine/volume/record.h"

#include "test/fuzz/property.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const auto record = engine::parse_record(fuzz::as_text(data, size));
  if (!record) {
    fuzz::require(record.error().code() == ErrorCode::kCorrupt,
                  "a record that is refused is corrupt, and nothing else");
    return 0;
  }
  fuzz::require(record->spec.size.count() > 0 && record->spec.size <= kMostBytes,
                "a size is from 1 to 2^63-1");
  fuzz::require(engine::is_uuid(record->spec.cluster_id) &&
                    engine::is_dns_label(record->spec.claim_namespace),
                "a record says whose the volume is");
  const std::string json = to_json(*record);
  const auto again = engine::parse_record(json);
  fuzz::require(again.ok() && to_json(*again) == json,
                "a record that is written reads back as itself");
  return 0;
}
