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

  EngineFixture() { REQUIRE(engine.promise(spec).ok()); }
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
  Status settle_and_claim() {
    auto settled = engine.settle(*engine.inventory());
    return settled ? engine.record_claim(spec, spec.name.claim_uid()) : settled;
  }
  bool has_record() { return was_begun(fake, spec); }
  int formats() const {
    return static_cast<int>(std::count(fake.started.begin(), fake.started.end(), "mkfs.xfs"));
  }
};

}  // namespace flexlocal::engine
