#include "provisioner/kube/reflector.h"

#include "flexvolume/base/text.h"

namespace flexlocal::kube {
namespace {

std::uint64_t chosen_seed(std::uint64_t wanted) {
  return wanted != 0 ? wanted : (std::uint64_t{std::random_device{}()} << 32U) | 1U;
}

}  // namespace

Reflector::Reflector(const ResourceKind& kind, const ReflectorOptions& options)
    : kind_(kind),
      options_(options),
      random_(chosen_seed(options.seed)),
      backoff_(options.backoff),
      streams_(options.streaming),
      by_stream_(options.streaming),
      first_from_cache_(options.first == FirstList::kFromCache),
      from_cache_(first_from_cache_),
      page_(options.page) {}

ReflectorStep Reflector::next() {
  ReflectorStep step;
  if (wait_first_) step.wait = backoff_.next(random_);
  wait_first_ = false;
  step.query = selectors();
  if (listing_ && !by_stream_) return list_step(std::move(step));
  return watch_step(std::move(step));
}

ReflectorStep Reflector::list_step(ReflectorStep step) const {
  step.kind = from_start_ ? ReflectorStep::Kind::kListFromStart : ReflectorStep::Kind::kListOn;
  if (from_cache_)
    step.query.add("resourceVersion", version_.empty() ? "0" : version_);
  else
    step.query.add("limit", concat(page_)).add("continue", continue_);
  return step;
}

ReflectorStep Reflector::watch_step(ReflectorStep step) {
  step.kind = listing_ ? ReflectorStep::Kind::kStream : ReflectorStep::Kind::kWatch;
  progressed_ = false;
  const auto lasts =
      std::chrono::duration_cast<std::chrono::milliseconds>(random_.jittered(options_.watch));
  // The server reads whole seconds, and takes zero for "as long as you like".
  const auto seconds = std::max<std::int64_t>(lasts.count() / 1000, 1);
  step.query.add("watch", "true").add("allowWatchBookmarks", "true");
  if (listing_)
    step.query.add("sendInitialEvents", "true").add("resourceVersionMatch", "NotOlderThan");
  // None: consistent.
  if (!listing_ || from_cache_) step.query.add("resourceVersion", version_);
  step.query.add("timeoutSeconds", concat(seconds));
  step.watch_limits = {.deadline = lasts + options_.grace, .stall = options_.stall};
  return step;
}

void Reflector::listed(std::string_view continue_token, std::string_view version) {
  continue_ = continue_token;
  from_start_ = false;
  if (!continue_.empty()) return;
  if (by_stream_) has_streamed_ = true;
  listing_ = false;
  synced_ = true;
  version_ = version;
}

void Reflector::list_failed(const Error& error) {
  heard(error);
  const bool was_from_cache = from_cache_;
  const bool too_large = error.code() == ErrorCode::kNoSpace;
  const bool gone = error.code() == ErrorCode::kGone;
  if (gone) list_anew();
  from_cache_ = was_from_cache && !too_large && !gone && may_ask_cache();
  // The server is not to blame: pages, or smaller ones, are asked for at once.
  if (too_large && was_from_cache) return;
  if (too_large && page_ > 1)
    page_ /= 2;
  else
    fail();
}

void Reflector::streamed() { progressed_ = true; }

void Reflector::stream_failed(const Error& error) {
  heard(error);
  switch (error.code()) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kDeadline:
    case ErrorCode::kDenied:
    case ErrorCode::kCancelled:
      break;
    case ErrorCode::kGone:
      // Not even of the newest version there is: see waitUntilWatchCacheFreshAndForceAllEvents().
      if (!from_cache_ || version_.empty()) by_stream_ = false;
      from_cache_ = false;
      break;
    default:
      return give_up_streams();
  }
  if (backoff_.failures() + 1 >= options_.most_streams) by_stream_ = false;
  fail();
}

void Reflector::stream_ended(std::chrono::nanoseconds lasted) {
  if (progressed_ || lasted >= options_.shortest_watch) return give_up_streams();
  by_stream_ = false;
  fail();
}

void Reflector::stream_silent() { give_up_streams(); }

void Reflector::watched(std::string_view version) {
  if (!version.empty()) version_ = version;
  progressed_ = true;
  silent_ = 0;
  go_well();
}

void Reflector::watch_ended(std::chrono::nanoseconds lasted) {
  if (!progressed_ && lasted < options_.shortest_watch) return fail();
  go_well();
}

void Reflector::watch_silent() {
  go_well();
  if (++silent_ <= options_.most_resumes) return;
  silent_ = 0;
  list_anew();
}

void Reflector::watch_failed(const Error& error) {
  heard(error);
  const bool may_resume = error.code() == ErrorCode::kUnavailable ||
                          error.code() == ErrorCode::kDeadline ||
                          error.code() == ErrorCode::kDenied;
  if (!may_resume || backoff_.failures() >= options_.most_resumes) list_anew();
  fail();
}

Query Reflector::selectors() const {
  Query query;
  query.add("labelSelector", kind_.label_selector).add("fieldSelector", kind_.field_selector);
  return query;
}

bool Reflector::may_ask_cache() const {
  return (synced_ || first_from_cache_) && backoff_.failures() < options_.most_from_cache;
}

void Reflector::fail() { wait_first_ = true; }

// The first answer of a server that was away: what the pauses grew to meanwhile was not for this.
// Once only: one that is there by turns is asked less and less.
void Reflector::heard(const Error& error) {
  const bool was_away = is_away_;
  is_away_ = error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kDeadline;
  if (!was_away || is_away_ || was_heard_) return;
  was_heard_ = true;
  backoff_.reset();
}

void Reflector::go_well() {
  was_heard_ = false;
  backoff_.reset();
}

void Reflector::list_anew() {
  listing_ = true;
  from_start_ = true;
  by_stream_ = streams_;
  from_cache_ = may_ask_cache();
  continue_.clear();
}

// One that has streamed a list before has them: this one was broken off, at its end or in silence.
void Reflector::give_up_streams() {
  by_stream_ = false;
  if (has_streamed_) return fail();
  streams_ = false;
}

}  // namespace flexlocal::kube
