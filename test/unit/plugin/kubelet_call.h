// What tests of the call-outs share: a call as kubelet makes it, on a host that is faked.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "flexvolume/callout.h"
#include "test/unit/engine/fake_host.h"

namespace flexlocal::plugin {

struct KubeletCall : Node {
  engine::FakeHost fake;
  engine::NodeConfig config = fake.config();
  engine::Engine real{fake.host(), config};
  int asked = 0;
  int marks = 0;
  Status mark_left;

  KubeletCall() {
    const auto promised = real.copies().promise(order_of(engine::example_spec()));
    if (!promised) throw std::runtime_error(promised.error().message());
  }
  Result<engine::Engine*> engine() override {
    ++asked;
    return &real;
  }
  engine::Engine& engine_for_unmount() override {
    ++asked;
    return real;
  }
  Status leave_init_mark() override {
    ++marks;
    return mark_left;
  }
  Answer call(const std::vector<std::string>& arguments) {
    return call_out(arguments, *this, fake);
  }
  std::string folder() { return fake.volume_folder(engine::example_spec().name); }
  bool untouched() const {
    return fake.started.empty() && fake.mounts.empty() && fake.volumes.empty();
  }
};

// The options of example_spec(), as JSON in the keys' order.
std::string options_json(const engine::Options& changes = {});

// Of an answer that is one JSON object, or the test ends.
std::string status_of(const Answer& answer);

}  // namespace flexlocal::plugin
