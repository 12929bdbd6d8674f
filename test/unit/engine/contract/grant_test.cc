#include "flexvolume/engine/contract/grant.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "flexvolume/base/fd.h"
#include "flexvolume/base/text.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

const std::string kFirst(64, 'a');
const std::string kSecond(64, 'b');
const std::string kThird(64, 'c');

GrantKeys keys(const std::string& text) {
  auto parsed = GrantKeys::parse(text);
  REQUIRE(parsed.ok());
  return std::move(*parsed);
}

TEST_CASE("a grant is good for exactly the spec that was signed") {
  const GrantKeys ours = keys(kFirst);
  const VolumeSpec spec = example_spec();
  const std::string grant = ours.sign(spec);
  CHECK(ours.verify(spec, grant).ok());
  const auto changed = [&](auto change) {
    VolumeSpec other = spec;
    change(other);
    return ours.verify(other, grant).ok();
  };
  CHECK_FALSE(changed([](VolumeSpec& s) {
    s.name = *VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000b");
  }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.claim_namespace = "thief"; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.size = Bytes(s.size.count() + 1); }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.pool = "other"; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.backend = Backend::kThin; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.fs_type = FsType::kExt4; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.on_delete = OnDelete::kNone; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.limits.read_iops = 1; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.limits.required = true; }));
  CHECK_FALSE(changed([](VolumeSpec& s) { s.mount_options = {"noexec"}; }));
  CHECK_FALSE(
      changed([](VolumeSpec& s) { s.cluster_id = "99999999-2222-4333-8444-555555555555"; }));
}

TEST_CASE("a forged, cut, extended or empty grant is refused") {
  const GrantKeys ours = keys(kFirst);
  const VolumeSpec spec = example_spec();
  const std::string grant = ours.sign(spec);
  std::string last = grant;
  last.back() = last.back() == '0' ? '1' : '0';
  for (const std::string& forged :
       {std::string(), std::string("1"), grant.substr(1), grant + "0", grant + grant, last,
        std::string(grant.size(), '0'), keys(kSecond).sign(spec), "2" + grant.substr(1)}) {
    const auto verified = ours.verify(spec, forged);
    REQUIRE_FALSE_MESSAGE(verified.ok(), forged);
    CHECK(verified.error().code() == ErrorCode::kDenied);
    CHECK(verified.error().message().find(grant) == std::string::npos);
  }
}

TEST_CASE("after a rotation the present key signs, and the one before it still verifies") {
  const VolumeSpec spec = example_spec();
  const std::string old = keys(kFirst).sign(spec);
  const GrantKeys rotated = keys(concat(kSecond, '\n', kFirst, '\n'));
  CHECK(rotated.verify(spec, old).ok());
  CHECK(rotated.sign(spec) == keys(kSecond).sign(spec));
  CHECK(rotated.sign(spec) != old);
  CHECK_FALSE(keys(concat(kThird, '\n', kSecond)).verify(spec, old).ok());
}

TEST_CASE("the grant names its key without showing it") {
  const std::string grant = keys(kFirst).sign(example_spec());
  CHECK(grant.size() == 2 + 8 + 1 + 64);
  CHECK(grant.find("aaaaaaaa") == std::string::npos);
  const VolumeSpec other{*VolumeName::of_claim("0b1c2d3e-0000-4000-8000-00000000000b"),
                         example_spec().cluster_id, "x", "y"};
  CHECK(keys(kFirst).sign(other).substr(0, 11) == grant.substr(0, 11));
}

TEST_CASE("a key file that is not 1 to 8 lines of 64 digits is refused without showing it") {
  for (const std::string& text :
       {std::string(), std::string("\n\n"), kFirst.substr(1), kFirst + "0", "x" + kFirst.substr(1),
        concat(kFirst, '\n', "short"), kFirst + kFirst, std::string(64, 'g')}) {
    const auto parsed = GrantKeys::parse(text);
    REQUIRE_FALSE_MESSAGE(parsed.ok(), text);
    CHECK(parsed.error().message().find("aaaa") == std::string::npos);
  }
  std::string many;
  for (int i = 0; i < 9; ++i) many += kFirst + "\n";
  CHECK_FALSE(GrantKeys::parse(many).ok());
  CHECK(GrantKeys::parse(many.substr(65)).ok());
  CHECK(GrantKeys::parse("\n  " + kFirst + " \r\n").ok());
}

TEST_CASE("a key file that others may read is refused") {
  FakeHost fake;
  const std::string path = fake.folder + "/key";
  REQUIRE(write_file_atomically(path, kFirst, 0600).ok());
  CHECK(GrantKeys::load(path).ok());
  std::filesystem::permissions(path, std::filesystem::perms(0640));
  CHECK(GrantKeys::load(path).error().code() == ErrorCode::kDenied);
  CHECK(GrantKeys::load(fake.folder + "/none").error().code() == ErrorCode::kNotFound);
}

}  // namespace
}  // namespace flexlocal::engine
