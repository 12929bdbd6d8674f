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
      page_(options.page) {}

ReflectorStep Reflector::next() {
  ReflectorStep step;
  if (wait_first_) step.wait = backoff_.next(random_);
  wait_first_ = false;
  step.query = selectors();
  if (listing_) {
    step.kind = from_start_ ? ReflectorStep::Kind::kListFromStart : ReflectorStep::Kind::kListOn;
    step.query.add("limit", concat(page_)).add("continue", continue_);
    return step;
  }
  step.kind = ReflectorStep::Kind::kWatch;
  progressed_ = false;
  const auto lasts =
      std::chrono::duration_cast<std::chrono::milliseconds>(random_.jittered(options_.watch));
  // The server reads whole seconds, and takes zero for "as long as you like".
  const auto seconds = std::max<std::int64_t>(lasts.count() / 1000, 1);
  step.query.add("watch", "true").add("allowWatchBookmarks", "true");
  step.query.add("resourceVersion", version_).add("timeoutSeconds", concat(seconds));
  step.watch_limits = {.deadline = lasts + options_.grace, .stall = options_.stall};
  return step;
}

void Reflector::listed(std::string_view continue_token, std::string_view version) {
  continue_ = continue_token;
  from_start_ = false;
  if (!continue_.empty()) return;
  listing_ = false;
  synced_ = true;
  version_ = version;
}

void Reflector::list_failed(const Error& error) {
  if (error.code() == ErrorCode::kGone) list_anew();
  // The server is not to blame: a smaller page is asked for at once.
  if (error.code() == ErrorCode::kNoSpace && page_ > 1)
    page_ /= 2;
  else
    fail();
}

void Reflector::watched(std::string_view version) {
  if (!version.empty()) version_ = version;
  progressed_ = true;
  backoff_.reset();
}

void Reflector::watch_ended(std::chrono::nanoseconds lasted) {
  if (!progressed_ && lasted < options_.shortest_watch) return fail();
  backoff_.reset();
}

void Reflector::watch_failed(const Error& error) {
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

void Reflector::fail() { wait_first_ = true; }

void Reflector::list_anew() {
  listing_ = true;
  from_start_ = true;
  continue_.clear();
}

}  // namespace flexlocal::kube
