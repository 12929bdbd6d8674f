#include "provisioner/kube/leader_elector.h"

namespace flexlocal::kube {

Task<void> LeaderElector::run() {
  log_.info("standing for election", {{"lease", lease_.name()}, {"identity", options_.identity}});
  for (;;) {
    const bool cancelled = co_await is_cancelled();
    if (stopped_ || cancelled) break;
    if (leads())
      co_await lead_a_term();
    else
      co_await step();
  }
  // Elected at the very moment of the end.
  if (leads()) co_await give_back();
}

Task<void> LeaderElector::lead_a_term() {
  log_.info("leading", {{"lease", lease_.name()}, {"identity", options_.identity}});
  TaskGroup work(io_);
  TaskGroup watchdog(io_);
  bool asked_to_end = false;
  working_ = true;
  gate_.open_until(election_.leads_until());
  work.spawn(work_to_the_end());
  watchdog.spawn(end_with_the_term(work));
  for (;;) {
    const bool cancelled = co_await is_cancelled();
    if (!leads() || !working_ || cancelled) break;
    if (stopped_ && !std::exchange(asked_to_end, true)) work_.stop();
    co_await step();
    gate_.open_until(election_.leads_until());
  }
  gate_.shut();
  work.cancel();
  watchdog.cancel();
  const Status work_ended = co_await work.join();
  const Status watchdog_ended = co_await watchdog.join();
  if (leads())
    co_await give_back();
  else
    log_.warning("no longer leading", {{"lease", lease_.name()}, {"leader", election_.holder()}});
  if (!work_ended || !watchdog_ended) log_.warning("stopped before the leader's work had ended");
}

Task<void> LeaderElector::work_to_the_end() {
  co_await work_.lead();
  working_ = false;
  changed_.notify_all();
}

// The renewal under way may take longer than the term: the work is not to wait for it.
Task<void> LeaderElector::end_with_the_term(TaskGroup& work) {
  for (;;) {
    const auto left = election_.leads_until() - clock_.now();
    if (left <= std::chrono::nanoseconds(0)) break;
    const Status slept = co_await sleep_for(left);
    if (!slept) co_return;
  }
  work.cancel();
}

Task<void> LeaderElector::step() {
  const Election::Step now = election_.next(clock_.now(), clock_.wall());
  switch (now.kind) {
    case Election::Step::Kind::kWait:
      co_await wait(now.until);
      break;
    case Election::Step::Kind::kRead:
      co_await read();
      break;
    case Election::Step::Kind::kCreate:
    case Election::Step::Kind::kUpdate:
      co_await write(now);
      break;
  }
  const std::string holder(election_.holder());
  if (holder != told_holder_ && !holder.empty() && holder != options_.identity)
    log_.info("another leads", {{"lease", lease_.name()}, {"leader", holder}});
  told_holder_ = holder;
}

Task<void> LeaderElector::wait(Clock::Instant until) {
  const auto now = clock_.now();
  if (election_.leads(now)) until = std::min(until, election_.leads_until());
  const auto alarm = std::chrono::steady_clock::now() + (until - now);
  // Woken, in time or told to stop: whoever asked looks again.
  const Status waited = co_await changed_.wait(alarm);
  static_cast<void>(waited);
}

Task<void> LeaderElector::read() {
  const auto answer = co_await lease_.read();
  if (answer) {
    told_.reset();
    election_.read(*answer, clock_.now());
    check_put_back();
  } else if (answer.error().code() == ErrorCode::kNotFound) {
    election_.missing();
  } else {
    election_.failed(answer.error(), clock_.now());
    log_failure(answer.error());
  }
}

Task<void> LeaderElector::write(const Election::Step& step) {
  const bool creates = step.kind == Election::Step::Kind::kCreate;
  Result<Lease> answer = cancelled_error();
  if (creates)
    answer = co_await lease_.create(step.lease);
  else
    answer = co_await lease_.update(step.lease);
  if (answer) {
    told_.reset();
    election_.written(*answer, clock_.now());
    check_put_back();
    co_return;
  }
  election_.failed(answer.error(), clock_.now());
  // Somebody was faster: that is what an election is.
  const ErrorCode code = answer.error().code();
  if (code != ErrorCode::kConflict && code != ErrorCode::kExists) log_failure(answer.error());
}

void LeaderElector::check_put_back() {
  if (!election_.take_put_back()) return;
  log_.warning("the API server was put back to an earlier state", {{"lease", lease_.name()}});
  work_.put_back();
}

Task<void> LeaderElector::give_back() {
  const auto lease = election_.release(clock_.now(), clock_.wall());
  gate_.shut();
  if (!lease) co_return;
  const auto answer = co_await lease_.update(*lease);
  if (answer)
    log_.info("lease given back", {{"lease", lease_.name()}});
  else
    log_failure(answer.error());
}

// The same trouble once, until there is an answer again; by its code, since the texts of a read and
// of a write that find no server differ.
void LeaderElector::log_failure(const Error& error) {
  if (error.code() == ErrorCode::kCancelled || error.code() == told_) return;
  told_ = error.code();
  log_.warning(
      "election",
      {{"lease", lease_.name()}, {"code", to_string(error.code())}, {"error", error.message()}});
}

}  // namespace flexlocal::kube
