#include "test/unit/agent/room/stepped_storage.h"

#include <stdexcept>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

namespace asio = kube::asio;

Error not_of_room() { return Error(ErrorCode::kFailed, "no part of this test"); }

}  // namespace

Task<void> TaskSteps::pause() {
  asio::steady_timer timer(io_, asio::steady_timer::time_point::max());
  waiting_[now_] = &timer;
  boost::system::error_code ignored;  // a cancelled timer is the signal itself
  auto token = asio::redirect_error(asio::use_awaitable, ignored);
  co_await timer.async_wait(token);
}

void TaskSteps::start(unsigned task, Task<void> work) {
  now_ = task;
  asio::co_spawn(io_, std::move(work), [](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
  run();
}

void TaskSteps::go_on(unsigned task) {
  now_ = task;
  asio::steady_timer* const timer = waiting_.at(task);
  waiting_.erase(task);
  timer->cancel();
  run();
}

Bytes StepHost::on_disk() const {
  Bytes sum;
  for (const auto& [name, volume] : volumes) sum += volume.disk.value_or(Bytes());
  return sum;
}

Bytes StepHost::given() const {
  Bytes sum;
  for (const auto& [name, volume] : volumes) {
    const bool open = volume.record && volume.record->state != engine::RecordState::kReady;
    const Bytes promised = open ? volume.record->spec.size : Bytes();
    sum += std::max(promised, volume.disk.value_or(Bytes()));
  }
  return sum;
}

void StepHost::resize(Volume& volume, Bytes size, const char* doing) {
  if (on_disk() - volume.disk.value_or(Bytes()) + size > total)
    wrong.push_back(concat(doing, " finds no room for what was promised"));
  else
    volume.disk = size;
  ++changes;
}

void StepHost::create(const std::string& name) {
  Volume& volume = volumes[name];
  if (!volume.record || volume.disk || volume.record->state != engine::RecordState::kPromised)
    return;
  volume.record->state = engine::RecordState::kNew;
  resize(volume, volume.record->spec.size, "lvcreate");
}

void StepHost::mark_ready(const std::string& name) {
  Volume& volume = volumes[name];
  if (volume.record && volume.disk) volume.record->state = engine::RecordState::kReady;
}

// The records first, as Engine::inventory has it, and then the disks.
Task<Result<engine::Inventory>> SteppedStorage::inventory() {
  engine::Inventory seen;
  co_await steps_.pause();
  for (const auto& [name, volume] : host_.volumes)
    if (volume.record) seen.records.emplace(name, *volume.record);
  co_await steps_.pause();
  seen.heads.emplace("vg", head());
  co_await steps_.pause();
  for (const auto& [name, volume] : host_.volumes)
    if (volume.disk) seen.holdings.push_back({name, "group:vg", *volume.disk});
  seen.spaces.push_back({"group:vg", host_.total, host_.total - host_.on_disk(), kStepUnit, {}});
  co_await steps_.pause();
  co_return seen;
}

Task<bool> SteppedStorage::is_as_seen(const MetadataHeads& heads) {
  co_await steps_.pause();
  const bool same = heads.at("vg") == head();
  co_await steps_.pause();
  co_return same;
}

Task<Status> SteppedStorage::grow(const engine::VolumeSpec& spec, Bytes size) {
  co_await steps_.pause();
  StepHost::Volume& volume = host_.volumes.at(spec.name.text());
  if (size > volume.disk.value()) host_.resize(volume, size, "lvextend");
  co_await steps_.pause();
  co_return Status();
}

Task<Result<engine::Removal>> SteppedStorage::remove(const engine::VolumeSpec& spec) {
  co_await steps_.pause();
  StepHost::Volume& volume = host_.volumes.at(spec.name.text());
  volume.disk.reset();
  ++host_.changes;
  co_await steps_.pause();
  volume.record.reset();
  co_await steps_.pause();
  co_return engine::Removal{};
}

Task<Status> SteppedStorage::withdraw(const engine::VolumeSpec& spec) {
  co_await steps_.pause();
  StepHost::Volume& volume = host_.volumes.at(spec.name.text());
  const bool unmade = volume.record && engine::is_unmade(volume.record->state);
  if (unmade) volume.record.reset();
  co_await steps_.pause();
  co_return unmade ? Status() : Error(ErrorCode::kConflict, "it is made");
}

Task<Result<engine::Record>> SteppedStorage::promise(const engine::OrderedCopy& ordered) {
  co_await steps_.pause();
  engine::Record record = engine::promised_record(ordered.spec, ordered.claim_uid);
  host_.volumes[ordered.spec.name.text()].record = record;
  co_await steps_.pause();
  co_return record;
}

Task<Status> SteppedStorage::make(const engine::VolumeCall& call) {
  co_await steps_.pause();
  host_.create(call.name.text());
  co_await steps_.pause();
  host_.mark_ready(call.name.text());
  co_await steps_.pause();
  co_return Status();
}

Task<Result<engine::Removal>> SteppedStorage::remove_unused(const engine::VolumeSpec&) {
  co_return not_of_room();
}
Task<Status> SteppedStorage::set_retained(const engine::VolumeSpec&, engine::Retained) {
  co_return not_of_room();
}
Task<Result<engine::Record>> SteppedStorage::follow(const engine::OrderedCopy&) {
  co_return not_of_room();
}
Task<Result<engine::Record>> SteppedStorage::refuse(const engine::VolumeSpec&) {
  co_return not_of_room();
}
Task<Status> SteppedStorage::settle(const engine::Inventory&) { co_return not_of_room(); }
Task<Status> SteppedStorage::resume_suspended() { co_return not_of_room(); }
Task<Status> SteppedStorage::refresh_io_limits() { co_return not_of_room(); }
Result<engine::InitMark> SteppedStorage::init_mark() const { return not_of_room(); }

}  // namespace flexlocal::provisioner::test
