// A host with two volumes, of which LVM's metadata were put back to what they were before.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "flexvolume/base/lock.h"
#include "flexvolume/base/text.h"
#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {

inline constexpr Bytes kLarger{1024 * kMiB.count()};

struct OlderMetadata {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  VolumeSpec other = another_spec();
  std::string key = "data/" + spec.name.text();

  OlderMetadata() {
    REQUIRE(engine.copies().promise(order_of(spec)).ok());
    REQUIRE(engine.copies().promise(order_of(other)).ok());
    REQUIRE(mount(spec).ok());
  }
  static VolumeSpec another_spec() {
    VolumeSpec another = example_spec();
    another.name = *VolumeName::of_claim("99999999-2222-4333-8444-555555555555");
    return another;
  }
  VolumeSpec promise_third() {
    VolumeSpec third = example_spec();
    third.name = *VolumeName::of_claim("77777777-2222-4333-8444-555555555555");
    REQUIRE(engine.copies().promise(order_of(third)).ok());
    return third;
  }
  Status mount(const VolumeSpec& of) {
    return engine.mount({call_for(of), fake.volume_folder(of.name), "shop", "4f0e", false});
  }
  // A growth of the first volume that LVM's metadata do not have any more: their number is what it
  // was before the restore, and not their text.
  void go_back() {
    fake.volumes[key].device_size = kLarger.count();
    ++fake.disk.head.checksum;
  }
  void bring_newer_back() {
    fake.volumes[key].device_size = 0;
    ++fake.disk.head.seqno;
    REQUIRE(engine.inventory()->outdated.empty());
  }
  void forget_group() { std::filesystem::remove(concat(fake.folder, "/groups/data.json")); }
  // What was noted of the group, with these disks.
  void note(const std::string& disks) const {
    std::ofstream(concat(fake.folder, "/groups/data.json"))
        << concat(R"({"group_uuid":"vg","seqno":)", fake.disk.head.seqno, R"(,"checksum":)",
                  fake.disk.head.checksum, R"(,"disks":[)", disks, "]}");
  }
  static bool is_refusal(const Status& status) {
    return !status.ok() && status.error().code() == ErrorCode::kOutdated &&
           status.error().message().find("vgcfgrestore --list data") != std::string::npos;
  }
  long count(const char* program) const {
    return std::count(fake.started.begin(), fake.started.end(), program);
  }
};

}  // namespace flexlocal::engine
