#include "flexvolume/engine/host/layout.h"

#include <doctest/doctest.h>

namespace flexlocal::engine {
namespace {

constexpr Bytes kExtent{4 * kMiB.count()};
const Layout kLinear{};
const Layout kMirror{Layout::Kind::kRaid1};
Layout striped(unsigned stripes) { return {Layout::Kind::kStriped, stripes}; }
Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

TEST_CASE("layouts are read and written back, and nothing else is one") {
  for (const char* text : {"linear", "raid1", "striped:2", "striped:128"}) {
    const auto layout = parse_layout(text);
    REQUIRE_MESSAGE(layout.ok(), text);
    CHECK(to_string(*layout) == text);
  }
  for (const char* text : {"", "striped", "striped:", "striped:1", "striped:0", "striped:129",
                           "striped:2x", "raid0", "raid10", "mirror", "Linear", "striped:-2"})
    CHECK_FALSE_MESSAGE(parse_layout(text).ok(), text);
}

TEST_CASE("a mirror costs both halves and their metadata, a stripe set whole rows") {
  CHECK(cost(kLinear, mib(10), kExtent) == mib(12));
  CHECK(cost(kMirror, mib(10), kExtent) == mib(2 * (12 + 4)));
  CHECK(cost(striped(3), mib(10), kExtent) == mib(12));
  CHECK(cost(striped(3), mib(13), kExtent) == mib(24));
  CHECK(real_size(striped(3), mib(13), kExtent) == mib(24));
  CHECK(real_size(kMirror, mib(13), kExtent) == mib(16));
}

TEST_CASE("the largest volume is what the fullest of the disks it needs can hold") {
  const std::vector<Bytes> disks = {mib(100), mib(41), mib(203)};
  CHECK(largest(kLinear, disks, kExtent) == mib(100 + 40 + 200));
  CHECK(largest(kMirror, disks, kExtent) == mib(96));
  CHECK(largest(striped(2), disks, kExtent) == mib(200));
  CHECK(largest(striped(3), disks, kExtent) == mib(120));
  CHECK(largest(striped(4), disks, kExtent) == Bytes(0));
  CHECK(largest(kMirror, {mib(100)}, kExtent) == Bytes(0));
  CHECK(largest(kMirror, {mib(2), mib(100)}, kExtent) == Bytes(0));
}

TEST_CASE("a volume of the largest size costs no more than the disks have") {
  const std::vector<Bytes> disks = {mib(100), mib(64), mib(204)};
  const Bytes all = mib(100 + 64 + 204);
  for (const Layout& layout : {kLinear, kMirror, striped(2), striped(3)})
    CHECK_MESSAGE(cost(layout, largest(layout, disks, kExtent), kExtent) <= all, to_string(layout));
}

TEST_CASE("lvcreate is always told the type, so that it falls back to none") {
  for (const Layout& layout : {kLinear, kMirror, striped(2)})
    CHECK(lvcreate_arguments(layout).front() == "--type");
}

}  // namespace
}  // namespace flexlocal::engine
