#include "provisioner/kube/lease.h"

#include "flexvolume/base/text.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/lease_server.h"

namespace flexlocal::kube::test {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

const Clock::Wall kNow{seconds(1'700'000'000)};

Lease sample() {
  Lease lease;
  lease.namespace_name = "flexlocal-system";
  lease.name = "flexlocal-cluster";
  lease.resource_version = "7";
  lease.annotations = {{"a", "b"}};
  lease.owners = {{"v1", "Node", "node-a", "u-1"}};
  lease.holder = "me";
  lease.duration = seconds(15);
  lease.acquired = kNow;
  lease.renewed = kNow + microseconds(250);
  lease.transitions = 3;
  return lease;
}

Lease decoded(std::string_view text) {
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  return decode_lease(document->root());
}

}  // namespace

TEST_CASE("a Lease is written as the API server wants it, and read back the same") {
  const std::string text = encode_lease(sample());
  CHECK(text ==
        R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{)"
        R"("name":"flexlocal-cluster","namespace":"flexlocal-system","resourceVersion":"7",)"
        R"("annotations":{"a":"b"},"ownerReferences":[{"apiVersion":"v1","kind":"Node",)"
        R"("name":"node-a","uid":"u-1"}]},"spec":{"holderIdentity":"me",)"
        R"("leaseDurationSeconds":15,"acquireTime":"2023-11-14T22:13:20.000000Z",)"
        R"("renewTime":"2023-11-14T22:13:20.000250Z","leaseTransitions":3}})");
  CHECK(encode_lease(decoded(text)) == text);
}

TEST_CASE("what a stranger wrote into a Lease is taken within bounds or not at all") {
  const Lease lease = decoded(
      R"({"metadata":{"name":7},"spec":{"holderIdentity":[],"leaseDurationSeconds":2147483647,)"
      R"("renewTime":"9999-12-31T23:59:59.000000Z","acquireTime":"1600-01-01T00:00:00Z",)"
      R"("leaseTransitions":-5}})");
  CHECK(lease.name.empty());
  CHECK(lease.holder.empty());
  CHECK(lease.duration == kLongestLease);
  CHECK_FALSE(lease.renewed.has_value());
  CHECK_FALSE(lease.acquired.has_value());
  CHECK(lease.transitions == 0);
  CHECK(decoded("{}").duration == seconds(0));
  CHECK(decoded(R"({"spec":{"leaseDurationSeconds":-1}})").duration == seconds(0));
}

TEST_CASE("a renewal always changes the Lease, also with a clock that stands still or goes back") {
  Lease lease = sample();
  CHECK(next_renewal(lease, kNow + seconds(2)) == kNow + seconds(2));
  CHECK(next_renewal(lease, *lease.renewed) == *lease.renewed + microseconds(1));
  CHECK(next_renewal(lease, kNow - hours(1)) == *lease.renewed + microseconds(1));
  lease.renewed.reset();
  CHECK(next_renewal(lease, kNow) == kNow);
}

TEST_CASE("a Lease is read, made once, and changed only at the version that was read") {
  Lab lab;
  LeaseServer server;
  FakeHttp http;
  http.answer = [&](const HttpRequest& request) { return server.answer(request); };
  ApiClient api(http, lab.clock, ApiOptions{.limit = {}});
  LeaseClient client(api, "ns", "one");
  CHECK(lab.wait_for(client.read()).error().code() == ErrorCode::kNotFound);
  const auto made = lab.wait_for(client.create(sample()));
  REQUIRE(made.ok());
  CHECK(made->name == "one");
  CHECK(made->namespace_name == "ns");
  CHECK(lab.wait_for(client.create(sample())).error().code() == ErrorCode::kExists);
  Lease changed = *made;
  changed.transitions = 9;
  CHECK(lab.wait_for(client.update(changed)).ok());
  CHECK(lab.wait_for(client.update(*made)).error().code() == ErrorCode::kConflict);
  CHECK(http.seen[0].target == "/apis/coordination.k8s.io/v1/namespaces/ns/leases/one");
  CHECK(http.seen[1].target == "/apis/coordination.k8s.io/v1/namespaces/ns/leases");
  CHECK(http.seen[3].method == Method::kPut);
}

}  // namespace flexlocal::kube::test
