// The node's disks as the daemon's tasks see them: the engine, with its waiting done elsewhere.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <functional>

#include "flexvolume/engine/engine.h"
#include "provisioner/agent/device_events.h"
#include "provisioner/kube/async.h"

namespace flexlocal::provisioner {

using MetadataHeads = std::map<std::string, engine::MetadataHead>;  // by volume group

class Storage {
 public:
  virtual ~Storage() = default;
  // As Engine's operations of the same names. Arguments must live until the task has ended.
  virtual Task<Result<engine::Inventory>> inventory() = 0;
  virtual Task<bool> is_as_seen(const MetadataHeads& heads) = 0;
  virtual Task<Status> grow(const engine::VolumeSpec& spec, Bytes size) = 0;
  virtual Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) = 0;
  virtual Task<Result<engine::Removal>> remove_unused(const engine::VolumeSpec& spec) = 0;
  virtual Task<Status> set_retained(const engine::VolumeSpec& spec, engine::Retained retained) = 0;
  // As CopyRecords' operations, and Engine::make.
  virtual Task<Result<engine::Record>> promise(const engine::OrderedCopy& ordered) = 0;
  virtual Task<Result<engine::Record>> follow(const engine::OrderedCopy& ordered) = 0;
  virtual Task<Result<engine::Record>> refuse(const engine::VolumeSpec& spec) = 0;
  virtual Task<Status> withdraw(const engine::VolumeSpec& spec) = 0;
  virtual Task<Status> make(const engine::VolumeCall& call) = 0;
  virtual Task<Status> settle(const engine::Inventory& inventory) = 0;
  virtual Task<Status> resume_suspended() = 0;
  virtual Task<Status> refresh_io_limits() = 0;
  virtual Result<engine::InitMark> init_mark() const = 0;
  // Of the host, and so of all of its volumes.
  virtual DeviceEvents& events() = 0;
};

// Runs the engine on threads of its own: its programs may take seconds, and the event loop must
// not. A task that is told to stop still waits for what it began: programs have deadlines.
class EngineStorage final : public Storage {
 public:
  // `root`: the folder under which the host's files are seen.
  EngineStorage(boost::asio::io_context& io, engine::Engine& engine, std::size_t threads,
                std::string root)
      : io_(io), engine_(engine), events_(io, std::move(root)), threads_(threads) {}
  ~EngineStorage() override {
    threads_.join();
    resumer_.join();
  }

  Task<Result<engine::Inventory>> inventory() override;
  Task<bool> is_as_seen(const MetadataHeads& heads) override;
  Task<Status> grow(const engine::VolumeSpec& spec, Bytes size) override;
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override;
  Task<Result<engine::Removal>> remove_unused(const engine::VolumeSpec& spec) override;
  Task<Status> set_retained(const engine::VolumeSpec& spec, engine::Retained retained) override;
  Task<Result<engine::Record>> promise(const engine::OrderedCopy& ordered) override;
  Task<Result<engine::Record>> follow(const engine::OrderedCopy& ordered) override;
  Task<Result<engine::Record>> refuse(const engine::VolumeSpec& spec) override;
  Task<Status> withdraw(const engine::VolumeSpec& spec) override;
  Task<Status> make(const engine::VolumeCall& call) override;
  Task<Status> settle(const engine::Inventory& inventory) override;
  Task<Status> resume_suspended() override;
  Task<Status> refresh_io_limits() override;
  Result<engine::InitMark> init_mark() const override { return engine_.init_mark(); }
  DeviceEvents& events() override { return events_; }

 private:
  Task<void> run(const std::function<void()>& work) { return run_on(threads_, work); }
  template <typename T>
  Task<T> ask(const std::function<T()>& operation);
  Task<void> run_on(boost::asio::thread_pool& threads, const std::function<void()>& work);

  boost::asio::io_context& io_;
  engine::Engine& engine_;
  KernelDeviceEvents events_;
  boost::asio::thread_pool threads_;
  // What all others may wait for: never behind them.
  boost::asio::thread_pool resumer_{1};
};

}  // namespace flexlocal::provisioner
