#include "flexvolume/engine/lvm/thin_room.h"

#include <doctest/doctest.h>

namespace flexlocal::engine {
namespace {

Pool pool(unsigned percent) {
  return {.volume_group = "data", .thin_pool = "tp", .overcommit_percent = percent};
}
Bytes gib(std::uint64_t count) { return Bytes(count * kGiB.count()); }
ThinPool thin(std::uint64_t promised) { return {gib(10), true, 10, 5, true, gib(promised)}; }

TEST_CASE("promises add up to the pool's size times its overcommit, to the byte") {
  CHECK(check_promise(thin(4), pool(100), gib(6)).ok());
  CHECK_FALSE(check_promise(thin(4), pool(100), gib(6) + Bytes(1)).ok());
  CHECK(check_promise(thin(4), pool(150), gib(11)).ok());
  CHECK_FALSE(check_promise(thin(4), pool(150), gib(11) + Bytes(1)).ok());
  CHECK(check_promise(thin(4), pool(100), gib(7)).error().message() ==
        "thin pool data/tp of 10 GiB may promise 10 GiB (overcommit 1.00), has promised 4 GiB, and "
        "7 GiB more are asked");
}

TEST_CASE("a sum that does not fit 64 bits is no way around the limit") {
  CHECK_FALSE(check_promise(thin(4), pool(100), Bytes(UINT64_MAX)).ok());
  ThinPool huge = thin(0);
  huge.size = kMostBytes;
  CHECK(promisable(huge, pool(10000)) == kMostBytes);
}

TEST_CASE("a pool whose data or metadata is nearly full takes nothing, however much is promised") {
  ThinPool full = thin(0);
  full.data_percent = kMostThinPercent;
  CHECK(check_promise(full, pool(1000), Bytes(1)).error().code() == ErrorCode::kNoSpace);
  full = thin(0);
  full.metadata_percent = 100;
  CHECK(check_promise(full, pool(1000), Bytes(1)).error().message().find("metadata is 100 %") !=
        std::string::npos);
}

TEST_CASE("a pool that shows old blocks is refused before anything else") {
  ThinPool showing = thin(0);
  showing.zeroing = false;
  const auto refused = check_promise(showing, pool(100), Bytes(1));
  CHECK(refused.error().code() == ErrorCode::kInvalid);
  CHECK(refused.error().message().find("lvchange --zero y data/tp") != std::string::npos);
}

TEST_CASE("what is reported is what a volume would get") {
  CHECK(room_to_report(thin(4), pool(150)) == gib(11));
  ThinPool full = thin(4);
  full.data_percent = kMostThinPercent;
  CHECK(room_to_report(full, pool(150)) == Bytes(0));
}

TEST_CASE("a pool that is down is reported while it only waits for its first volume") {
  ThinPool down = thin(0);
  down.active = false;
  CHECK(room_to_report(down, pool(100)) == gib(10));
  CHECK(check_promise(down, pool(100), Bytes(0)).error().code() == ErrorCode::kUnavailable);
  ThinPool used = down, damaged = down, skipped = down;
  used.promised = gib(1);
  damaged.health = "partial";
  skipped.skips_activation = true;
  for (const ThinPool& other : {used, damaged, skipped})
    CHECK_FALSE(room_to_report(other, pool(100)).has_value());
}

}  // namespace
}  // namespace flexlocal::engine
