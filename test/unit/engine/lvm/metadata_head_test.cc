#include "flexvolume/engine/lvm/metadata_head.h"

#include <doctest/doctest.h>

#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {
namespace {

const MetadataHead kHead{"data", "hkXpd1-L9w1-6Tk4-0sJs-bqgr-iPLY-hcEYcG", 41, 0xdeadbeef};

Result<std::optional<MetadataHead>> head_of(const FakeDisk& disk) {
  FakeHost fake;
  fake.disk = disk;
  return read_metadata_head(fake, "/dev/fake-disk");
}

TEST_CASE("a disk's metadata are named by group, uuid, number and checksum") {
  FakeDisk disk{.head = kHead};
  CHECK(**head_of(disk) == kHead);
  disk.area_offset = 65536;  // as a host with pages of 64 KiB makes it
  CHECK(**head_of(disk) == kHead);
}

TEST_CASE("a text that goes over its area's end goes on behind the header") {
  FakeDisk disk{.head = kHead};
  for (std::uint64_t left = 1; left < 100; ++left) {
    disk.text_offset = disk.area_size - left;
    REQUIRE(**head_of(disk) == kHead);
  }
}

TEST_CASE("a disk without metadata, and a copy that LVM does not keep, say nothing") {
  FakeDisk disk{.head = kHead, .flags = 1};
  CHECK_FALSE(head_of(disk)->has_value());
  const std::string bytes = FakeDisk{.head = kHead}.bytes();
  CHECK(metadata_area(bytes)->offset == 4096);
  CHECK_FALSE(metadata_area(std::string(kLabelBytes, '\0')).has_value());
  CHECK_FALSE(metadata_area(bytes.substr(0, 600)).has_value());
  CHECK_FALSE(metadata_area("").has_value());
  CHECK_FALSE(metadata_text(std::string(kAreaHeaderBytes, '\0')).has_value());
  CHECK_FALSE(metadata_text("").has_value());
}

TEST_CASE("metadata that cannot be are an error") {
  FakeDisk disk{.head = kHead};
  disk.text_offset = disk.area_size;
  CHECK(head_of(disk).error().code() == ErrorCode::kCorrupt);
  for (const char* text : {"", "data", "data {\nid = \"x\"\n}", "{\nid = \"x\"\nseqno = 1\n}",
                           "data {\nid = \"x\"\nseqno = -1\n}", "data {\nidle = 1\nseqno = 1\n}"})
    CHECK_FALSE(parse_metadata_head(text).has_value());
}

}  // namespace
}  // namespace flexlocal::engine
