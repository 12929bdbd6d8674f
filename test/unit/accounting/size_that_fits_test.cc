#include <doctest/doctest.h>

#include "provisioner/accounting/room.h"

namespace flexlocal::provisioner::test {
namespace {

using engine::Backend;
using engine::Layout;

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

PoolRoom room_of(Bytes free, Layout layout = {}) {
  return {.pool = {.volume_group = "vg",
                   .layout = layout,
                   .thin_pool = "thin",
                   .quota_path = {},
                   .quota_size = {}},
          .unit = mib(4),
          .free = free};
}

Promise wanted(Bytes size, Backend backend = Backend::kLvm) {
  return {"pvc-wanted", backend, "default", size};
}

std::string why_not(const Promise& promise, const PoolRoom& room) {
  const auto size = size_that_fits(promise, room);
  REQUIRE_FALSE(size);
  CHECK(size.error().code() == ErrorCode::kNoSpace);
  return size.error().message();
}

}  // namespace

TEST_CASE("a volume that fits gets whole units, to the last byte that is free") {
  CHECK(*size_that_fits(wanted(mib(8)), room_of(mib(8))) == mib(8));
  CHECK(*size_that_fits(wanted(Bytes(mib(4).count() + 1)), room_of(mib(8))) == mib(8));
  CHECK_FALSE(size_that_fits(wanted(Bytes(mib(8).count() + 1)), room_of(mib(8))));
}

TEST_CASE("a lack of room is told with what is free and what is asked, as it would be taken") {
  CHECK(why_not(wanted(mib(9)), room_of(mib(8))) ==
        "pool \"default\" has 8 MiB free for backend lvm, 12 MiB asked");
  CHECK(why_not(wanted(mib(9), Backend::kThin), room_of(Bytes())) ==
        "pool \"default\" has 0 B free for backend thin, 12 MiB asked");
}

TEST_CASE("what a layout takes beyond the volume is told, too") {
  const Layout mirror{Layout::Kind::kRaid1};
  CHECK(why_not(wanted(mib(8)), room_of(mib(16), mirror)) ==
        "pool \"default\" has 16 MiB free for backend lvm, 8 MiB asked, which takes 24 MiB in "
        "layout raid1");
  CHECK(*size_that_fits(wanted(mib(8)), room_of(mib(24), mirror)) == mib(8));
}

TEST_CASE("room that lies on too few disks is told, with how many the layout needs") {
  PoolRoom room = room_of(mib(100), {Layout::Kind::kRaid1});
  room.disks_suffice = false;
  CHECK(why_not(wanted(mib(8)), room) ==
        "pool \"default\" has 100 MiB free for backend lvm, 8 MiB asked, which takes 24 MiB in "
        "layout raid1, and not as layout raid1 needs it, on 2 different disks");
}

TEST_CASE("more than any disk can have does not fit, however much is free") {
  CHECK_FALSE(size_that_fits(wanted(Bytes(UINT64_MAX)), room_of(Bytes(UINT64_MAX))));
}

}  // namespace flexlocal::provisioner::test
