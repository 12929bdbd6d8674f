#include <doctest/doctest.h>

#include "provisioner/kube/keeping.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

CopyOrder full_order() {
  CopyOrder order = sample_order();
  order.volume.backend = engine::Backend::kThin;
  order.volume.fs_type = engine::FsType::kExt4;
  order.volume.on_delete = engine::OnDelete::kNone;
  order.volume.limits = {1000, 2000, kGiB, kMiB, true};
  order.volume.mount_options = {"noatime", "nodiratime"};
  order.volume.access_mode = engine::AccessMode::kReadWriteOncePod;
  order.origin = Origin::kReceived;
  order.desired = DesiredState::kRetained;
  order.reclaim_policy = "Retain";
  order.disk_per_ram = Ratio::of_millionths(0);
  order.claim_uid = kOtherUid;
  order.term = INT64_MAX;
  return order;
}

VolumeCopy full_copy(Result<CopyOrder> order) {
  VolumeCopy copy{.name = copy_name(sample_order()),
                  .uid = kOtherUid,
                  .resource_version = "12",
                  .generation = 3,
                  .deleting = true,
                  .agent = "node-a",
                  .holds = "shop/earlier",
                  .order = std::move(order),
                  .status = {}};
  copy.status = {.state = CopyState::kRetained,
                 .promised = true,
                 .made = true,
                 .size = Bytes(UINT64_MAX),
                 .mounted = true,
                 .wiped = kMiB,
                 .host = kUid,
                 .observed_generation = 2,
                 .conditions = {{std::string(kAsOrdered), true, "Done", "all is well",
                                 Clock::Wall(std::chrono::seconds(1'800'000'000))},
                                {"Other", false, "", "no", Clock::Wall(std::chrono::seconds(-1))}}};
  return copy;
}

VolumeCopy empty_copy() {
  return {.name = {},
          .uid = {},
          .resource_version = {},
          .order = CopyOrder(sample_spec().name),
          .status = {}};
}

void check_kept(const VolumeCopy& copy) {
  kube::Keeping<VolumeCopy> keeping;
  const kube::Packed packed = keeping.keep(copy);
  const KnownCopy kept = kube::Keeping<VolumeCopy>::find(packed);
  CHECK(kept->name == copy.name);
  CHECK(kept->uid == copy.uid);
  CHECK(kept->resource_version == copy.resource_version);
  CHECK(kept->generation == copy.generation);
  CHECK(kept->deleting == copy.deleting);
  CHECK(kept->agent == copy.agent);
  CHECK(kept->holds == copy.holds);
  CHECK(kept->status == copy.status);
  REQUIRE(kept->order.ok() == copy.order.ok());
  if (!copy.order) {
    CHECK(kept->order.error().code() == copy.order.error().code());
    CHECK(kept->order.error().message() == copy.order.error().message());
    return;
  }
  CHECK(kept->order->volume == copy.order->volume);
  CHECK(order_text(*kept->order) == order_text(*copy.order));
}

}  // namespace

TEST_CASE("a VolumeCopy is kept whole, one that says nothing as well") {
  check_kept(full_copy(full_order()));
  check_kept(full_copy(sample_order()));
  check_kept(empty_copy());
  for (const DesiredState desired :
       {DesiredState::kServing, DesiredState::kRetained, DesiredState::kRemoved}) {
    CopyOrder order = full_order();
    order.desired = desired;
    order.disk_per_ram = std::nullopt;
    check_kept(full_copy(order));
  }
}

TEST_CASE("of a VolumeCopy that is not understood it is kept why") {
  check_kept(full_copy(Error(ErrorCode::kInvalid, "desiredState is \"Sealed\"")));
}

}  // namespace flexlocal::provisioner::test
