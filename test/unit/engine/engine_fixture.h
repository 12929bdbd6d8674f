// One promised volume on a faked host.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flexvolume/engine/engine.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::engine {

using Programs = std::vector<std::string>;

struct EngineFixture {
  FakeHost fake;
  NodeConfig config = fake.config();
  Engine engine{fake.host(), config};
  VolumeSpec spec = example_spec();
  std::string key = "data/" + spec.name.text();

  EngineFixture() { REQUIRE(engine.copies().promise(order_of(spec)).ok()); }
  MountRequest request() {
    return {call_for(spec), fake.volume_folder(spec.name), "shop", "4f0e", false};
  }
  Status mount() { return engine.mount(request()); }
  RecordState recorded() {
    const auto record = RecordStore(fake.folder + "/records").load(spec.name);
    REQUIRE(record.ok());
    REQUIRE(record->has_value());
    return (*record)->state;
  }
  // As the node daemon does with what is there. It orders nothing of what has no record.
  Status settle_and_follow() {
    if (auto settled = engine.settle(*engine.inventory()); !settled) return settled;
    const auto followed = engine.copies().follow(order_of(spec));
    const bool done = followed || followed.error().code() == ErrorCode::kNotFound;
    return done ? Status() : followed.error();
  }
  bool has_record() { return was_begun(fake, spec); }
  int formats() const {
    return static_cast<int>(std::count(fake.started.begin(), fake.started.end(), "mkfs.xfs"));
  }
};

}  // namespace flexlocal::engine
