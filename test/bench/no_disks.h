// Disks that are a number: promises and volumes are kept in memory, and nothing takes time.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "flexvolume/base/version.h"
#include "provisioner/agent/storage.h"

namespace flexlocal::provisioner {

class NoDisks final : public Storage {
 public:
  explicit NoDisks(Bytes size) {
    present_.spaces.push_back({"group:sim", size, size, Bytes(4 * kMiB.count()), {}});
  }
  Task<Result<engine::Inventory>> inventory() override { co_return present_; }
  Task<bool> is_as_seen(const MetadataHeads&) override { co_return true; }
  // What is grown has not been made: only its promise grows.
  Task<Status> grow(const engine::VolumeSpec&, Bytes) override {
    co_return Error(ErrorCode::kNotFound, "not made yet");
  }
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override {
    present_.records.erase(spec.name.text());
    const auto is_it = [&](const auto& volume) { return volume.name == spec.name.text(); };
    std::erase_if(present_.volumes, is_it);
    std::erase_if(present_.holdings, [&](const auto& holding) {
      if (holding.volume != spec.name.text()) return false;
      present_.spaces.front().free += holding.size;
      return true;
    });
    co_return engine::Removal{};
  }
  Task<Result<engine::Removal>> remove_unused(const engine::VolumeSpec& spec) override {
    auto removed = co_await remove(spec);
    co_return removed;
  }
  Task<Status> set_retained(const engine::VolumeSpec&, engine::Retained) override {
    co_return Status();
  }
  // Copies are made as they are promised, at once.
  Task<Result<engine::Record>> promise(const engine::OrderedCopy& ordered) override {
    engine::Record record = engine::promised_record(ordered.spec, ordered.claim_uid);
    record.order = ordered.order;
    present_.records.insert_or_assign(ordered.spec.name.text(), record);
    co_return record;
  }
  Task<Result<engine::Record>> follow(const engine::OrderedCopy& ordered) override {
    const auto found = present_.records.find(ordered.spec.name.text());
    if (found == present_.records.end()) co_return engine::unpromised(ordered.spec.name);
    found->second.claim_uid = ordered.claim_uid;
    found->second.order = ordered.order;
    co_return found->second;
  }
  Task<Result<engine::Record>> refuse(const engine::VolumeSpec& spec) override {
    co_return engine::unpromised(spec.name);
  }
  Task<Status> withdraw(const engine::VolumeSpec& spec) override {
    present_.records.erase(spec.name.text());
    co_return Status();
  }
  Task<Status> make(const engine::VolumeCall& call) override {
    const auto found = present_.records.find(call.name.text());
    if (found == present_.records.end()) co_return engine::unpromised(call.name);
    found->second.state = engine::RecordState::kReady;
    add(found->second.spec);
    co_return Status();
  }
  Task<Status> settle(const engine::Inventory&) override { co_return Status(); }
  Task<Status> resume_suspended() override { co_return Status(); }
  Task<Status> refresh_io_limits() override { co_return Status(); }
  // There is no kubelet either: as if it had called the plugin of this version.
  Result<engine::InitMark> init_mark() const override { return engine::InitMark(version()); }
  DeviceEvents& events() override { return events_; }

 private:
  void add(const engine::VolumeSpec& spec) {
    engine::LogicalVolume volume;
    volume.group = "sim";
    volume.name = spec.name.text();
    volume.size = spec.size;
    volume.ownership = engine::Ownership{.copy = spec.copy,
                                         .cluster_id = spec.cluster_id,
                                         .claim_uid = spec.name.claim_uid(),
                                         .claim_namespace = spec.claim_namespace,
                                         .pool = spec.pool,
                                         .size = spec.size,
                                         .ready = true,
                                         .attempt = {}};
    present_.volumes.push_back(std::move(volume));
    present_.holdings.push_back({spec.name.text(), "group:sim", spec.size});
    present_.spaces.front().free = present_.spaces.front().free - spec.size;
  }

  // Nobody else changes anything.
  struct NoEvents final : DeviceEvents {
    Status arm() override { return {}; }
    Task<Result<bool>> wait(std::chrono::nanoseconds most) override {
      auto slept = co_await kube::sleep_for(most);
      if (!slept) co_return slept.error();
      co_return false;
    }
  };

  engine::Inventory present_;
  NoEvents events_;
};

}  // namespace flexlocal::provisioner
