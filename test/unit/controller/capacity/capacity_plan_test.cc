#include "provisioner/controller/capacity/capacity_plan.h"

#include <doctest/doctest.h>

namespace flexlocal::provisioner::test {
namespace {

Bytes mib(std::uint64_t count) { return Bytes(count * kMiB.count()); }

std::vector<Bytes> none() { return {}; }

}  // namespace

TEST_CASE("what was taken is told, whatever it is; what became free when it is worth it") {
  CHECK(needs_update(mib(1000), mib(999), none));
  CHECK(needs_update(mib(1000), Bytes(0), none));
  CHECK_FALSE(needs_update(mib(1000), mib(1000), none));
  CHECK_FALSE(needs_update(mib(1000), mib(1009), none));
  CHECK(needs_update(mib(1000), mib(1011), none));
  CHECK(needs_update(Bytes(0), Bytes(1), none));
}

TEST_CASE("what became free is told when it is what a claim waits for") {
  const auto waiting = [](Bytes size) {
    return [size] { return std::vector<Bytes>{mib(5), size}; };
  };
  CHECK(needs_update(mib(1000), mib(1001), waiting(mib(1001))));
  CHECK_FALSE(needs_update(mib(1000), mib(1001), waiting(mib(1002))));
  CHECK_FALSE(needs_update(mib(1000), mib(1001), waiting(mib(1000))));
}

}  // namespace flexlocal::provisioner::test
