#include "flexvolume/engine/contract/contract.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

Options call_options() {
  return {{std::string(kCopyOption), example_spec().copy},
          {"kubernetes.io/pvOrVolumeName", example_spec().name.text()},
          {"kubernetes.io/fsType", "xfs"},
          {"kubernetes.io/pod.namespace", "shop"}};
}

TEST_CASE("a call names a volume and which copy of it") {
  const auto call = parse_options(call_options());
  REQUIRE(call.ok());
  CHECK(call->name == example_spec().name);
  CHECK(call->copy == example_spec().copy);
}

TEST_CASE("a missing option is named, and one that is not known") {
  for (const std::string key : {"kubernetes.io/pvOrVolumeName", "flexlocal.io/copy"}) {
    Options options = call_options();
    options.erase(key);
    const auto call = parse_options(options);
    REQUIRE_FALSE_MESSAGE(call.ok(), key);
    CHECK(call.error().message().find(key) != std::string::npos);
  }
  Options options = call_options();
  options["flexlocal.io/size"] = "1";
  CHECK(parse_options(options).error().message().find("flexlocal.io/size is not known") !=
        std::string::npos);
}

TEST_CASE("names that could walk, inject or confuse are no volume names") {
  const std::string good = example_spec().name.text();
  CHECK(VolumeName::parse(good).ok());
  for (const std::string& name :
       {std::string(), std::string("pvc-"), std::string("../") + good, good + "/x", good + "\n",
        "-" + good, good + std::string(1, '\0'), std::string("pvc-../../../etc/passwd"),
        std::string("pvc-0B1C2D3E-0000-4000-8000-00000000000A"), good.substr(1)}) {
    CHECK_FALSE_MESSAGE(VolumeName::parse(name).ok(), name);
  }
}

TEST_CASE("tags read back as the ownership they were written from") {
  const auto tags = to_tags(example_spec(), "cafe");
  const auto ownership = parse_tags({tags.begin(), tags.end()});
  REQUIRE(ownership.has_value());
  CHECK(owns(*ownership, example_spec()));
  CHECK(ownership->attempt == "cafe");
  CHECK_FALSE(ownership->ready);
  CHECK(*spec_by_tags(*ownership, Backend::kLvm) == example_spec());
}

TEST_CASE("another copy of the same volume is not owned") {
  VolumeSpec other = example_spec();
  other.copy = "0000000000000000";
  const auto tags = to_tags(other, "cafe");
  const auto ownership = parse_tags({tags.begin(), tags.end()});
  REQUIRE(ownership.has_value());
  CHECK_FALSE(owns(*ownership, example_spec()));
  CHECK_FALSE(is_of(other, example_spec()));
}

TEST_CASE("retained is a tag of its own, beside any state") {
  auto tags = to_tags(example_spec(), "cafe");
  CHECK_FALSE(parse_tags({tags.begin(), tags.end()})->retained);
  tags.emplace_back(kRetainedTag);
  CHECK(parse_tags({tags.begin(), tags.end()})->retained);
  tags.emplace_back(kReadyTag);
  const auto ownership = parse_tags({tags.begin(), tags.end()});
  CHECK((ownership->retained && ownership->ready));
}

TEST_CASE("with any one tag missing the volume is a stranger's") {
  const auto tags = to_tags(example_spec(), "cafe");
  for (std::size_t skip = 0; skip < 6; ++skip) {
    std::vector<std::string_view> some;
    for (std::size_t i = 0; i < tags.size(); ++i)
      if (i != skip) some.push_back(tags[i]);
    CHECK_FALSE_MESSAGE(parse_tags(some).has_value(), tags[skip]);
  }
}

TEST_CASE("tags keep to the characters that LVM takes") {
  for (const std::string& tag : to_tags(example_spec(), "cafe"))
    CHECK_MESSAGE(tag.find_first_not_of(
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-/=!:&#") ==
                      std::string::npos,
                  tag);
}

TEST_CASE("device paths double hyphens as libdevmapper does") {
  CHECK(device_path("my-vg", example_spec().name.text()) ==
        "/dev/mapper/my--vg-pvc--0b1c2d3e--0000--4000--8000--00000000000a");
}

TEST_CASE("volume groups are named as LVM allows, without a leading hyphen") {
  for (const auto* name : {"data", "my-vg", "A.b_c+1"}) CHECK(is_lvm_name(name));
  for (const auto* name : {"", "-x", ".", "..", "a/b", "a b", "a\n"})
    CHECK_FALSE(is_lvm_name(name));
}

TEST_CASE("tags that contradict one another are a stranger's, in either order; states are not") {
  const auto tags = to_tags(example_spec(), "ab");
  for (const std::string_view other :
       {"flexlocal.io/owner=somebody", "flexlocal.io/copy=0000000000000000",
        "flexlocal.io/cluster=99999999-9999-4999-8999-999999999999",
        "flexlocal.io/claim-uid=99999999-9999-4999-8999-999999999999",
        "flexlocal.io/claim-namespace=thief", "flexlocal.io/pool=other", "flexlocal.io/fs=ext4",
        "flexlocal.io/on-delete=none", "flexlocal.io/size=1", "flexlocal.io/attempt=cd"}) {
    std::vector<std::string_view> both(tags.begin(), tags.end());
    both.push_back(other);
    CHECK_MESSAGE(!parse_tags(both), other);
    std::rotate(both.begin(), both.end() - 1, both.end());
    CHECK_MESSAGE(!parse_tags(both), other);
  }
  std::vector<std::string_view> states(tags.begin(), tags.end());
  states.insert(states.end(), {kReadyTag, kReadyTag, kWipingTag, tags.front()});
  const auto found = parse_tags(states);
  REQUIRE(found.has_value());
  CHECK(found->ready);
  CHECK(found->wiping);
}

TEST_CASE("a pool's shared file system is known by its tags, and is no claim's") {
  const VolumeSpec spec = shared_spec("fast", kGiB);
  CHECK(spec.name.text() == "flexlocal-fast");
  const auto tags = to_tags(spec, "a1");
  std::vector<std::string_view> read(tags.begin(), tags.end());
  const auto ownership = parse_tags(read);
  REQUIRE(ownership.has_value());
  CHECK(ownership->shared);
  CHECK(ownership->attempt == "a1");
  CHECK(owns(*ownership, spec));
  CHECK_FALSE(owns(*ownership, shared_spec("slow", kGiB)));
  Ownership claims = *ownership;
  claims.shared = false;
  CHECK_FALSE(owns(claims, spec));
  read.emplace_back("flexlocal.io/claim-uid=0b1c2d3e-0000-4000-8000-00000000000a");
  CHECK_FALSE(parse_tags(read).has_value());
  CHECK_FALSE(VolumeName::parse("flexlocal-fast").ok());
  CHECK(VolumeName::parse_any("flexlocal-fast")->is_of_pool());
  CHECK_FALSE(VolumeName::parse_any("flexlocal-../x").ok());
}

}  // namespace
}  // namespace flexlocal::engine
