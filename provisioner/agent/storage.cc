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

Task<Result<engine::Inventory>> EngineStorage::inventory() {
  std::optional<Result<engine::Inventory>> result;
  const std::function<void()> work = [&] { result.emplace(engine_.inventory()); };
  co_await run(work);
  co_return std::move(*result);
}

Task<Status> EngineStorage::promise(const engine::VolumeSpec& spec) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.promise(spec); };
  co_await run(work);
  co_return result;
}

Task<Status> EngineStorage::record_claim(const engine::VolumeSpec& spec,
                                         const std::string& claim_uid) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.record_claim(spec, claim_uid); };
  co_await run(work);
  co_return result;
}

Task<Status> EngineStorage::withdraw(const engine::PromisedVolume& promised) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.withdraw(promised); };
  co_await run(work);
  co_return result;
}

Task<Status> EngineStorage::grow(const engine::VolumeSpec& spec, Bytes size) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.grow(spec, size); };
  co_await run(work);
  co_return result;
}

Task<Result<engine::Removal>> EngineStorage::remove(const engine::VolumeSpec& spec) {
  std::optional<Result<engine::Removal>> result;
  const std::function<void()> work = [&] { result.emplace(engine_.remove(spec)); };
  co_await run(work);
  co_return std::move(*result);
}

Task<Status> EngineStorage::set_retained(const engine::VolumeSpec& spec,
                                         engine::Retained retained) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.set_retained(spec, retained); };
  co_await run(work);
  co_return result;
}

Task<Status> EngineStorage::settle(const engine::Inventory& inventory) {
  Status result;
  const std::function<void()> work = [&] { result = engine_.settle(inventory); };
  co_await run(work);
  co_return result;
}

Task<Status> EngineStorage::resume_suspended() {
  Status result;
  const std::function<void()> work = [&] { result = engine_.resume_suspended(); };
  co_await run_on(resumer_, work);
  co_return result;
}

Task<Status> EngineStorage::refresh_io_limits() {
  Status result;
  const std::function<void()> work = [&] { result = engine_.refresh_io_limits(); };
  co_await run(work);
  co_return result;
}

}  // namespace flexlocal::provisioner
