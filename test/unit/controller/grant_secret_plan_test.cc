#include "provisioner/controller/grant_secret_plan.h"

#include <doctest/doctest.h>

#include "flexvolume/engine/contract/grant.h"
#include "provisioner/kube/base64.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

GrantSecret secret_of(const std::string& keys) {
  GrantSecret secret;
  secret.uid = "u-1";
  secret.resource_version = "7";
  secret.keys = keys;
  return secret;
}

GrantSecret decoded(const std::string& text) {
  const auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  return decode_grant_secret(document->root());
}

std::string trouble(const std::optional<GrantSecret>& secret, std::size_t volumes = 0) {
  const auto plan = plan_grant_secret(secret, volumes);
  const auto* found = std::get_if<SecretTrouble>(&plan);
  REQUIRE(found != nullptr);
  return found->why;
}

bool left_alone(const GrantSecret& secret) {
  return std::holds_alternative<LeaveSecret>(plan_grant_secret(secret, 3));
}

}  // namespace

TEST_CASE("the Secret is made once, and one that is there is left as it is") {
  CHECK(std::holds_alternative<MakeSecret>(plan_grant_secret(std::nullopt, 0)));
  CHECK(left_alone(secret_of(kGrantLine)));
}

TEST_CASE("no new key is made in place of one that volumes were signed by") {
  CHECK(trouble(std::nullopt, 2).find("2 PersistentVolume(s) were signed by its keys") !=
        std::string::npos);
}

TEST_CASE("a Secret without a key, or with nonsense, is for a person") {
  GrantSecret empty = secret_of("");
  CHECK(trouble(empty).find("the grant key file is empty") != std::string::npos);
  empty.keys.reset();
  CHECK(trouble(empty).find("has no grant.key") != std::string::npos);
  GrantSecret nonsense = secret_of("open sesame\n");
  nonsense.rotation_asked = "now";
  CHECK(trouble(nonsense).find("64 hexadecimal digits") != std::string::npos);
  CHECK(trouble(nonsense).find("sesame") == std::string::npos);
}

TEST_CASE("a key is rotated once for each request, and not without one") {
  GrantSecret secret = secret_of(kGrantLine);
  secret.rotation_asked = "monday";
  CHECK(std::holds_alternative<RotateSecret>(plan_grant_secret(secret, 3)));
  secret.rotation_done = "monday";
  CHECK(left_alone(secret));
  secret.rotation_asked = "tuesday";
  CHECK(std::holds_alternative<RotateSecret>(plan_grant_secret(secret, 3)));
  secret.rotation_asked.clear();
  CHECK(left_alone(secret));
}

TEST_CASE("eight keys are the most: the ninth is refused with what to do") {
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += kGrantLine;
  GrantSecret secret = secret_of(lines);
  CHECK(left_alone(secret));
  secret.rotation_asked = "now";
  CHECK(trouble(secret).find("remove the last lines of grant.key") != std::string::npos);
}

TEST_CASE("a new key is one that the plugin takes, and never the same") {
  const std::string key = make_grant_key();
  CHECK(engine::GrantKeys::parse(key).ok());
  CHECK(key != make_grant_key());
  const auto text = grant_secret_json("flexlocal-system", key);
  const GrantSecret secret = decoded(text);
  CHECK(secret.keys == key + "\n");
  CHECK(text.find(R"("namespace":"flexlocal-system")") != std::string::npos);
}

TEST_CASE("rotation puts the new key on top, keeps the others, and marks the request as done") {
  GrantSecret secret = secret_of(kGrantLine);
  secret.rotation_asked = "now";
  const std::string patch = rotation_patch(secret, kOtherGrantLine.substr(0, 64));
  CHECK(patch ==
        R"({"metadata":{"resourceVersion":"7","annotations":{"flexlocal.io/rotated":"now"}},)"
        R"("data":{"grant.key":")" +
            kube::encode_base64(kOtherGrantLine + kGrantLine) + R"("}})");
  const GrantSecret after = decoded(patch);
  CHECK(after.rotation_done == "now");
  CHECK(engine::GrantKeys::parse(*after.keys)->count() == 2);
}

}  // namespace flexlocal::provisioner::test
