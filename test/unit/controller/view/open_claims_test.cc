#include "provisioner/controller/view/open_claims.h"

#include "test/unit/controller/cluster_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : ClusterLab {
  OpenClaims open{claims};

  void know(Claim claim, const std::string& name) {
    claim.name = name;
    put(claims, with(claim_text(claim), "{", R"({"apiVersion":"v1",)"));
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    open.for_each([&](const std::string& key) { keys.push_back(key); });
    return keys;
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a claim is open until it has a volume, or is not kept any more") {
  know(sample_claim(), "one");
  know(sample_claim(), "two");
  CHECK(keys() == std::vector<std::string>{"shop/one", "shop/two"});
  know(bound_claim("1Gi"), "one");
  CHECK(keys() == std::vector<std::string>{"shop/two"});
  // Of another driver, and bound: it is not ours to know.
  put(claims, concat(R"({"metadata":{"namespace":"shop","name":"two","resourceVersion":")",
                     next_version(), R"("},"spec":{"volumeName":"other"}})"));
  CHECK(claims.get("shop/two") == nullptr);
  CHECK(keys().empty());
}

TEST_CASE_FIXTURE(Fixture, "what is waited for is told by class, as it is asked for now") {
  Claim claim = sample_claim();
  know(claim, "one");
  claim.requested = "3Gi";
  know(claim, "two");
  claim.storage_class = "other";
  know(claim, "three");
  claim.storage_class = "local";
  claim.requested = "much";
  know(claim, "four");
  CHECK(open.sizes_of("local") == std::vector<Bytes>{kGiB, Bytes(3 * kGiB.count())});
  CHECK(open.sizes_of("none").empty());
  claim.requested = "2Gi";
  know(claim, "two");
  CHECK(open.sizes_of("local") == std::vector<Bytes>{kGiB, Bytes(2 * kGiB.count())});
}

}  // namespace flexlocal::provisioner::test
