// A node's disks as plain values: what is asked of them is written down in order.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flexvolume/base/text.h"
#include "flexvolume/base/version.h"
#include "provisioner/agent/storage.h"
#include "provisioner/kube/condition.h"
#include "test/unit/agent/fake_events.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

class FakeStorage : public Storage {
 public:
  explicit FakeStorage(std::vector<std::string>& journal) : journal_(journal) {}

  // A volume group of 2 GiB that is empty.
  engine::Inventory present{
      {}, {}, {{"group:vg", kGiB + kGiB, kGiB + kGiB, Bytes(4 * kMiB.count()), {}}}, {}};
  std::deque<engine::Removal> slices;  // what the next removals come to, before one that is done
  Status promise_status;
  Status make_status;
  Status inventory_status;
  Status grow_status;
  Status after_growth;  // what a growth says that has been carried out
  Status remove_status;
  std::function<void()> before_removal;  // of what is unused: what comes between look and removal
  Status retain_status;
  bool retains = true;  // or says so alone
  Status settle_status;
  std::optional<engine::Record> found;  // which a settlement makes anew
  Status limits_status;
  Status resume_status;
  int looks = 0;
  int comparisons = 0;     // of metadata, in place of a look
  bool hold_look = false;  // the next one waits for `go` when it has seen the disks
  // With `hold`, what is made, grown or removed waits for `go` before it begins.
  bool hold = false;
  int held = 0;
  kube::Condition go;
  int limit_refreshes = 0;
  int resumptions = 0;
  Result<engine::InitMark> mark = engine::InitMark(version());
  FakeEvents changes;
  // Asked before each change that an order of a copy brings; where it says no, there is none.
  std::function<bool()> alive = [] { return true; };

  Bytes& free() { return present.spaces.front().free; }

  Task<Result<engine::Inventory>> inventory() override {
    ++looks;
    if (!inventory_status) co_return inventory_status.error();
    const engine::Inventory seen = present;
    if (std::exchange(hold_look, false)) {
      const Status waited = co_await go.wait();
      if (!waited) co_return waited.error();
    }
    co_return seen;
  }
  Task<bool> is_as_seen(const MetadataHeads& heads) override {
    ++comparisons;
    co_return !heads.empty() && heads == present.heads;
  }
  // As LVM has it: the volume becomes larger, and its group has less. A volume that is not among
  // the holdings has not been made yet.
  Task<Status> grow(const engine::VolumeSpec& spec, Bytes size) override {
    journal_.push_back(concat("grow ", spec.name.text(), " to ", size.count() / kMiB.count()));
    const Status begun = co_await begin();
    if (!begun) co_return begun;
    if (!grow_status) co_return grow_status;
    if (!alive()) co_return ended();
    // As the engine has it, the spec is the one that the volume was made by.
    const auto record = present.records.find(spec.name.text());
    if (record != present.records.end() && record->second.spec.size != spec.size)
      co_return Error(ErrorCode::kDenied, "the volume on this node belongs to another claim");
    for (engine::LogicalVolume& volume : present.volumes)
      if (volume.name == spec.name.text()) volume.size = std::max(volume.size, size);
    for (engine::Holding& holding : present.holdings) {
      if (holding.volume != spec.name.text()) continue;
      free() = free() - (size - holding.size);
      holding.size = std::max(holding.size, size);
      co_return after_growth;
    }
    co_return Error(ErrorCode::kNotFound, "the volume is not there yet");
  }
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override {
    journal_.push_back(concat("remove ", spec.name.text()));
    const Status begun = co_await begin();
    if (!begun) co_return begun.error();
    if (!remove_status) co_return remove_status.error();
    if (!alive()) co_return ended();
    engine::Removal removal;
    if (!slices.empty()) {
      removal = slices.front();
      slices.pop_front();
    }
    if (removal.done) {
      present.records.erase(spec.name.text());
      std::erase_if(present.volumes, [&](const auto& lv) {
        const bool it = lv.name == spec.name.text();
        if (it) free() += lv.size;
        return it;
      });
    }
    co_return removal;
  }
  Task<Result<engine::Removal>> remove_unused(const engine::VolumeSpec& spec) override {
    journal_.push_back("if unused:");
    if (const std::function<void()> meanwhile = std::exchange(before_removal, {})) meanwhile();
    const auto record = present.records.find(spec.name.text());
    if (record == present.records.end() || record->second.used)
      co_return Error(ErrorCode::kConflict, "a pod may have had it");
    auto removed = co_await remove(spec);
    co_return removed;
  }
  Task<Status> set_retained(const engine::VolumeSpec& spec, engine::Retained retained) override {
    const bool kept = retained == engine::Retained::kYes;
    journal_.push_back(concat(kept ? "retain " : "take up ", spec.name.text()));
    if (!alive()) co_return ended();
    if (!retains) co_return Status();
    const auto record = present.records.find(spec.name.text());
    if (retain_status && record != present.records.end()) record->second.retained = kept;
    engine::LogicalVolume* const made = find_volume(spec.name.text());
    if (retain_status && made != nullptr && made->ownership) made->ownership->retained = kept;
    co_return retain_status;
  }
  Task<Result<engine::Record>> promise(const engine::OrderedCopy& ordered) override {
    journal_.push_back(concat("promise ", ordered.spec.name.text()));
    if (!promise_status) co_return promise_status.error();
    if (!alive()) co_return ended();
    engine::Record record = engine::promised_record(ordered.spec, ordered.claim_uid);
    record.order = ordered.order;
    record.retained = ordered.retained;
    present.records.insert_or_assign(ordered.spec.name.text(), record);
    co_return record;
  }
  Task<Result<engine::Record>> follow(const engine::OrderedCopy& ordered) override {
    journal_.push_back(concat("follow order ", ordered.order.generation, " of ",
                              ordered.spec.name.text(), " for ", ordered.claim_uid));
    if (!alive()) co_return ended();
    engine::Record& record = present.records.at(ordered.spec.name.text());
    record.claim_uid = ordered.claim_uid;
    record.order = ordered.order;
    record.spec.access_mode = ordered.spec.access_mode;
    if (engine::is_unmade(record.state)) record.retained = ordered.retained;
    co_return record;
  }
  Task<Result<engine::Record>> refuse(const engine::VolumeSpec& spec) override {
    journal_.push_back(concat("refuse ", spec.name.text()));
    if (!alive()) co_return ended();
    engine::Record& record = present.records.at(spec.name.text());
    record.state = engine::RecordState::kRefused;
    co_return record;
  }
  Task<Status> withdraw(const engine::VolumeSpec& spec) override {
    journal_.push_back(concat("withdraw ", spec.name.text()));
    if (!alive()) co_return ended();
    present.records.erase(spec.name.text());
    co_return Status();
  }
  // The volume as its record promises it.
  Task<Status> make(const engine::VolumeCall& call) override {
    journal_.push_back(concat("make ", call.name.text()));
    const Status begun = co_await begin();
    if (!begun) co_return begun;
    if (!make_status) co_return make_status;
    if (!alive()) co_return ended();
    make_by_record(call.name.text());
    co_return Status();
  }
  // As a mount does it, too.
  void make_by_record(const std::string& name) {
    engine::Record& record = present.records.at(name);
    record.state = engine::RecordState::kReady;
    record.used = find_volume(name) != nullptr;
    if (!record.used) add_volume(record.spec);
  }
  // A logical volume of that order, complete.
  void add_volume(const engine::VolumeSpec& spec) {
    engine::Ownership owner{.copy = spec.copy,
                            .cluster_id = spec.cluster_id,
                            .claim_uid = spec.name.claim_uid(),
                            .claim_namespace = spec.claim_namespace,
                            .pool = spec.pool,
                            .size = spec.size,
                            .ready = true,
                            .attempt = {}};
    present.volumes.push_back({.group = "vg",
                               .name = spec.name.text(),
                               .uuid = "uuid",
                               .device_uuid = "LVM-uuid",
                               .size = spec.size,
                               .active = true,
                               .thin_pool = {},
                               .ownership = owner});
    present.holdings.push_back({spec.name.text(), "group:vg", spec.size});
    free() = free() - spec.size;
  }
  Task<Status> settle(const engine::Inventory&) override {
    journal_.push_back("settle");
    if (found) present.records.insert_or_assign(found->spec.name.text(), *found);
    co_return settle_status;
  }
  Task<Status> resume_suspended() override {
    ++resumptions;
    co_return resume_status;
  }
  Task<Status> refresh_io_limits() override {
    ++limit_refreshes;
    co_return limits_status;
  }
  Result<engine::InitMark> init_mark() const override { return mark; }
  DeviceEvents& events() override { return changes; }

 private:
  Task<Status> begin() {
    if (!hold) co_return Status();
    ++held;
    const Status waited = co_await go.wait();
    co_return waited;
  }
  engine::LogicalVolume* find_volume(const std::string& name) {
    for (engine::LogicalVolume& volume : present.volumes)
      if (volume.name == name) return &volume;
    return nullptr;
  }
  static Error ended() { return Error(ErrorCode::kCancelled, "the process has ended"); }

  std::vector<std::string>& journal_;
};

}  // namespace flexlocal::provisioner::test
