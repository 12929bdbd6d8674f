#include "provisioner/agent/storage.h"

#include <boost/asio/post.hpp>
#include <optional>

namespace flexlocal::provisioner {

namespace asio = boost::asio;

Task<void> EngineStorage::run_on(asio::thread_pool& threads, const std::function<void()>& work) {
  bool done = false;
  asio::steady_timer finished(io_, asio::steady_timer::time_point::max());
  const auto on_finished = [&] {
    done = true;
    finished.cancel();
  };
  asio::post(threads, [this, &work, on_finished] {
    work();
    asio::post(io_, on_finished);
  });
  // The work refers to this frame, so the frame stays until it has ended, told to stop or not.
  while (!done) {
    boost::system::error_code ignored;  // a cancelled timer is the signal itself
    auto token = asio::redirect_error(asio::use_awaitable, ignored);
    co_await finished.async_wait(token);
  }
}

template <typename T>
Task<T> EngineStorage::ask(const std::function<T()>& operation) {
  std::optional<T> answer;
  const std::function<void()> work = [&] { answer.emplace(operation()); };
  co_await run(work);
  co_return std::move(*answer);
}

Task<Result<engine::Inventory>> EngineStorage::inventory() {
  const std::function<Result<engine::Inventory>()> operation = [&] { return engine_.inventory(); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<bool> EngineStorage::is_as_seen(const MetadataHeads& heads) {
  const std::function<bool()> operation = [&] { return engine_.is_as_seen(heads); };
  const bool answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::grow(const engine::VolumeSpec& spec, Bytes size) {
  const std::function<Status()> operation = [&] { return engine_.grow(spec, size); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Result<engine::Removal>> EngineStorage::remove(const engine::VolumeSpec& spec) {
  const std::function<Result<engine::Removal>()> operation = [&] { return engine_.remove(spec); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Result<engine::Removal>> EngineStorage::remove_unused(const engine::VolumeSpec& spec) {
  const std::function<Result<engine::Removal>()> operation = [&] {
    return engine_.remove_unused(spec);
  };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::set_retained(const engine::VolumeSpec& spec,
                                         engine::Retained retained) {
  const std::function<Status()> operation = [&] { return engine_.set_retained(spec, retained); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Result<engine::Record>> EngineStorage::promise(const engine::OrderedCopy& ordered) {
  const std::function<Result<engine::Record>()> operation = [&] {
    if (auto there = engine_.check_tools(ordered.spec); !there)
      return Result<engine::Record>(there.error());
    return engine_.copies().promise(ordered);
  };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Result<engine::Record>> EngineStorage::follow(const engine::OrderedCopy& ordered) {
  const std::function<Result<engine::Record>()> operation = [&] {
    return engine_.copies().follow(ordered);
  };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Result<engine::Record>> EngineStorage::refuse(const engine::VolumeSpec& spec) {
  const std::function<Result<engine::Record>()> operation = [&] {
    return engine_.copies().refuse(spec);
  };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::withdraw(const engine::VolumeSpec& spec) {
  const std::function<Status()> operation = [&] { return engine_.copies().withdraw(spec); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::make(const engine::VolumeCall& call) {
  const std::function<Status()> operation = [&] { return engine_.make(call); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::settle(const engine::Inventory& inventory) {
  const std::function<Status()> operation = [&] { return engine_.settle(inventory); };
  auto answer = co_await ask(operation);
  co_return answer;
}

Task<Status> EngineStorage::resume_suspended() {
  Status result;
  const std::function<void()> work = [&] { result = engine_.resume_suspended(); };
  co_await run_on(resumer_, work);
  co_return result;
}

Task<Status> EngineStorage::refresh_io_limits() {
  const std::function<Status()> operation = [&] { return engine_.refresh_io_limits(); };
  auto answer = co_await ask(operation);
  co_return answer;
}

}  // namespace flexlocal::provisioner
