// An LV's tags: what decides whether a volume is ours, and so whether it may be removed.
#include <algorithm>

#include "flexvolume/base/text.h"
#include "flexvolume/engine/contract/contract.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

using engine::Ownership;

bool same(const Ownership& a, const Ownership& b) {
  return a.copy == b.copy && a.cluster_id == b.cluster_id && a.claim_uid == b.claim_uid &&
         a.claim_namespace == b.claim_namespace && a.fs_type == b.fs_type && a.pool == b.pool &&
         a.on_delete == b.on_delete && a.size == b.size && a.ready == b.ready &&
         a.wiping == b.wiping && a.attempt == b.attempt && a.shared == b.shared;
}

void check_round_trip(Ownership ownership) {
  const auto name = ownership.shared ? engine::VolumeName::of_pool(ownership.pool)
                                     : engine::VolumeName::of_claim(ownership.claim_uid);
  require(name.ok(), "an owner's claim names a volume");
  // A pool's file system is removed by nobody, so that its tags say nothing of it.
  if (ownership.shared) ownership.on_delete = engine::OnDelete::kDiscard;
  const engine::VolumeSpec spec{.name = *name,
                                .copy = ownership.copy,
                                .cluster_id = ownership.cluster_id,
                                .claim_namespace = ownership.claim_namespace,
                                .pool = ownership.pool,
                                .fs_type = ownership.fs_type,
                                .size = ownership.size,
                                .on_delete = ownership.on_delete};
  require(owns(ownership, spec), "a volume is its owner's");
  const auto tags = to_tags(spec, ownership.attempt);
  std::vector<std::string_view> views(tags.begin(), tags.end());
  if (ownership.ready) views.push_back(engine::kReadyTag);
  if (ownership.wiping) views.push_back(engine::kWipingTag);
  const auto again = engine::parse_tags(views);
  require(again && same(*again, ownership), "tags that are written read back as themselves");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  auto tags = split(fuzz::as_text(data, size), ',');
  const auto ownership = engine::parse_tags(tags);
  if (ownership) {
    fuzz::require(std::find(tags.begin(), tags.end(), engine::kOwnerTag) != tags.end(),
                  "without the owner's tag a volume is a stranger's");
    fuzz::check_round_trip(*ownership);
  }
  std::reverse(tags.begin(), tags.end());
  const auto reversed = engine::parse_tags(tags);
  fuzz::require(ownership.has_value() == reversed.has_value() &&
                    (!ownership || fuzz::same(*ownership, *reversed)),
                "tags are a set: their order means nothing");
  return 0;
}
