#include "provisioner/kube/reflect.h"

#include "provisioner/kube/list_intake.h"
#include "provisioner/kube/watch_intake.h"

namespace flexlocal::kube {
namespace {

// One reflector with what it needs to act.
struct Run {
  ApiClient& api;
  Log& log;
  const ResourceKind& kind;
  Reflector& reflector;
  ObjectSink& sink;
  ReflectorStats& stats;
};

void log_failure(const Run& run, std::string_view message, const Error& error) {
  if (error.code() == ErrorCode::kCancelled) return;
  run.log.warning(
      message,
      {{"kind", run.kind.name}, {"code", to_string(error.code())}, {"error", error.message()}});
}

// Its items have been taken in as they came.
Status end_page(const Run& run, const ListDecoder& decoder) {
  const auto page = decoder.finish();
  if (!page) return page.error();
  const JsonView metadata = page->root()["metadata"];
  const std::string_view version = metadata["resourceVersion"].text();
  if (version.empty()) return Error(ErrorCode::kCorrupt, "a list without a resourceVersion");
  const std::string_view more = metadata["continue"].text();
  if (more.empty()) run.sink.list_ended(version);
  run.reflector.listed(more, version);
  return {};
}

Task<void> list_page(const Run& run, const ReflectorStep& step) {
  if (step.kind == ReflectorStep::Kind::kListFromStart) {
    run.sink.list_began();
    run.stats.lists.add();
  }
  ListIntake objects(run.kind, run.sink);
  ListDecoder decoder(objects);
  Status taken = co_await run.api.read_list(run.kind.path, step.query, decoder);
  if (taken) taken = end_page(run, decoder);
  if (taken) co_return;
  run.stats.list_failures.add();
  log_failure(run, "list failed", taken.error());
  run.reflector.list_failed(taken.error());
}

// The server does not stream the list, or not now; the next step is asked for.
void end_list(const Run& run, const Status& ended, std::chrono::nanoseconds lasted, bool silent) {
  if (ended)
    run.reflector.stream_ended(lasted);
  else if (silent)
    run.reflector.stream_silent();
  else
    run.reflector.stream_failed(ended.error());
  const bool gave_up = !run.reflector.streams();
  if (gave_up)
    run.log.info("the API server has no streaming lists; plain ones are read",
                 {{"kind", run.kind.name},
                  {"why", ended ? "the objects had no end" : ended.error().message()}});
  if (gave_up || ended) return;
  run.stats.list_failures.add();
  log_failure(run, "list failed", ended.error());
}

void end_watch(const Run& run, const Status& ended, std::chrono::nanoseconds lasted, bool silent) {
  if (ended) return run.reflector.watch_ended(lasted);
  if (silent) return run.reflector.watch_silent();
  run.stats.watch_failures.add();
  log_failure(run, "watch failed", ended.error());
  run.reflector.watch_failed(ended.error());
}

Task<void> watch_once(const Run& run, const ReflectorStep& step) {
  const bool streams = step.kind == ReflectorStep::Kind::kStream;
  if (streams) {
    run.sink.list_began();
    run.stats.lists.add();
    run.stats.streamed_lists.add();
  }
  WatchIntake objects(run.kind, run.reflector, run.sink, run.stats,
                      streams ? WatchIntake::Begins::kWithList : WatchIntake::Begins::kInOrder);
  WatchDecoder decoder(objects);
  const auto began = std::chrono::steady_clock::now();
  run.stats.watches.add();
  const Status ended =
      co_await run.api.watch(run.kind.path, step.query, step.watch_limits, decoder);
  const auto lasted = std::chrono::steady_clock::now() - began;
  // What was not even reached is given up on sooner.
  const auto stall = step.watch_limits.stall;
  const bool silent = !ended && ended.error().code() == ErrorCode::kDeadline && stall.count() > 0 &&
                      lasted >= stall;
  const auto end = objects.in_list() ? end_list : end_watch;
  end(run, ended, lasted, silent);
}

}  // namespace

Task<void> reflect(ApiClient& api, Log& log, const ResourceKind& kind,
                   const ReflectorOptions& options, ObjectSink& sink, ReflectorStats& stats) {
  Reflector reflector(kind, options);
  const Run run{api, log, kind, reflector, sink, stats};
  while (!co_await is_cancelled()) {
    const ReflectorStep step = reflector.next();
    const Status waited = co_await sleep_for(step.wait);
    if (!waited) co_return;
    const bool watches =
        step.kind == ReflectorStep::Kind::kWatch || step.kind == ReflectorStep::Kind::kStream;
    if (watches)
      co_await watch_once(run, step);
    else
      co_await list_page(run, step);
  }
}

}  // namespace flexlocal::kube
