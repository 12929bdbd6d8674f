#include "provisioner/kube/reflector.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"

namespace flexlocal::kube::test {
namespace {

using Kind = ReflectorStep::Kind;
using std::chrono::milliseconds;
using std::chrono::seconds;

const ResourceKind kPods{"pods", "/api/v1/pods", "app=x", ""};

bool asks(const ReflectorStep& step, std::string_view pair) {
  return concat('&', step.query.text(), '&').find(concat('&', pair, '&')) != std::string::npos;
}

bool is_from_etcd(const ReflectorStep& step) {
  return step.kind == Kind::kListFromStart && asks(step, "limit=500") &&
         !asks(step, "resourceVersion=100");
}

Error error(ErrorCode code) { return Error(code, "it failed"); }

struct Fixture {
  ReflectorOptions options = [] {
    ReflectorOptions some;
    some.seed = 1;
    some.streaming = false;
    return some;
  }();
  Reflector reflector{kPods, options};

  void list() {
    reflector.next();
    reflector.listed("", "100");
  }
  void begin_anew() {
    list();
    reflector.next();
    reflector.watch_failed(error(ErrorCode::kGone));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a reflector lists page by page, then watches from the list's version") {
  ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kListFromStart);
  CHECK(step.wait == seconds(0));
  CHECK(asks(step, "limit=500"));
  CHECK(asks(step, "labelSelector=app%3Dx"));
  reflector.listed("more", "100");
  CHECK_FALSE(reflector.has_synced());
  step = reflector.next();
  CHECK(step.kind == Kind::kListOn);
  CHECK(asks(step, "continue=more"));
  reflector.listed("", "100");
  CHECK(reflector.has_synced());
  step = reflector.next();
  CHECK(step.kind == Kind::kWatch);
  CHECK(asks(step, "resourceVersion=100"));
  CHECK(asks(step, "allowWatchBookmarks=true"));
  CHECK_FALSE(asks(step, "limit=500"));
}

TEST_CASE("a first list may come from the API server's cache, whatever that has") {
  ReflectorOptions options;
  options.seed = 1;
  options.streaming = false;
  options.first = FirstList::kFromCache;
  Reflector reflector(kPods, options);
  for (int i = 0; i < 3; ++i) {
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kListFromStart);
    CHECK(asks(step, "resourceVersion=0"));
    CHECK_FALSE(asks(step, "limit=500"));
    reflector.list_failed(error(ErrorCode::kUnavailable));
  }
  reflector.list_failed(error(ErrorCode::kNoSpace));
  CHECK(is_from_etcd(reflector.next()));
  reflector.listed("", "100");
  CHECK(asks(reflector.next(), "resourceVersion=100"));
}

TEST_CASE_FIXTURE(Fixture, "a watch is asked to last 5 to 10 minutes and is given up on later") {
  list();
  for (int i = 0; i < 50; ++i) {
    const ReflectorStep step = reflector.next();
    CHECK(step.watch_limits.deadline >= std::chrono::minutes(5) + seconds(30));
    CHECK(step.watch_limits.deadline <= std::chrono::minutes(10) + seconds(30));
    reflector.watch_ended(std::chrono::minutes(5));
  }
}

TEST_CASE_FIXTURE(Fixture, "an orderly end resumes at once from the last version") {
  list();
  reflector.next();
  reflector.watched("107");
  reflector.watch_ended(seconds(0));
  const ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kWatch);
  CHECK(step.wait == seconds(0));
  CHECK(asks(step, "resourceVersion=107"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a watch that ends at once and brought nothing is resumed after a wait") {
  list();
  reflector.next();
  reflector.watch_ended(milliseconds(3));
  CHECK(reflector.next().wait >= milliseconds(800));
}

TEST_CASE_FIXTURE(Fixture,
                  "a broken connection is resumed with growing waits that progress resets") {
  list();
  auto least = milliseconds(800);
  for (int i = 0; i < 5; ++i) {
    reflector.next();
    reflector.watch_failed(error(ErrorCode::kUnavailable));
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kWatch);
    CHECK(step.wait >= least);
    CHECK(step.wait < 2 * least);
    least *= 2;
  }
  reflector.watched("101");
  reflector.watch_failed(error(ErrorCode::kUnavailable));
  CHECK(reflector.next().wait < milliseconds(1600));
}

TEST_CASE_FIXTURE(Fixture, "waits stay under the maximum however long the server is away") {
  for (int i = 0; i < 100; ++i) {
    reflector.list_failed(error(ErrorCode::kUnavailable));
    CHECK(reflector.next().wait < seconds(60));
  }
}

TEST_CASE_FIXTURE(Fixture, "a version that is gone leads to a fresh list after a wait") {
  list();
  reflector.next();
  reflector.watch_failed(error(ErrorCode::kGone));
  const ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kListFromStart);
  CHECK(step.wait >= milliseconds(800));
  CHECK(reflector.has_synced());
}

// Heartbeats say by then that all is well, and orders that nobody hears are withdrawn.
TEST_CASE_FIXTURE(Fixture, "the first answer after an outage is not paid for with its pauses") {
  list();
  const auto away = [&] {
    for (int i = 0; i < 6; ++i) {
      reflector.next();
      reflector.watch_failed(error(ErrorCode::kUnavailable));
    }
    CHECK(reflector.next().wait > seconds(5));
  };
  away();
  SUBCASE("the version is gone") {
    reflector.watch_failed(error(ErrorCode::kGone));
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kListFromStart);
    CHECK(step.wait < milliseconds(1600));
    reflector.list_failed(error(ErrorCode::kGone));
    CHECK(reflector.next().wait >= milliseconds(1600));  // but the answers after it are
  }
  SUBCASE("its roles are not read yet") {
    reflector.watch_failed(error(ErrorCode::kDenied));
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kWatch);
    CHECK(step.wait < milliseconds(1600));
  }
  SUBCASE("it is away again") {
    reflector.watch_failed(error(ErrorCode::kDeadline));
    CHECK(reflector.next().wait > seconds(5));
  }
}

TEST_CASE("nor is the first answer to a list, or to a stream") {
  ReflectorOptions options;
  options.seed = 1;
  SUBCASE("stream") {
    Reflector reflector(kPods, options);
    for (const ErrorCode code :
         {ErrorCode::kUnavailable, ErrorCode::kDeadline, ErrorCode::kDenied}) {
      REQUIRE(reflector.next().kind == Kind::kStream);
      reflector.stream_failed(error(code));
    }
    CHECK(reflector.next().wait < milliseconds(1600));
  }
  SUBCASE("list") {
    options.streaming = false;
    Reflector reflector(kPods, options);
    for (int i = 0; i < 6; ++i) {
      reflector.next();
      reflector.list_failed(error(ErrorCode::kUnavailable));
    }
    reflector.next();
    reflector.list_failed(error(ErrorCode::kDenied));
    CHECK(reflector.next().wait < milliseconds(1600));
  }
}

// A limit, or no version, would make the API server read it from etcd.
TEST_CASE_FIXTURE(Fixture, "a list after the first comes from the API server's cache") {
  begin_anew();
  for (int i = 0; i < 3; ++i) {
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kListFromStart);
    CHECK(asks(step, "labelSelector=app%3Dx"));
    CHECK(asks(step, "resourceVersion=100"));
    CHECK_FALSE(asks(step, "limit=500"));
    reflector.list_failed(error(ErrorCode::kUnavailable));
  }
  reflector.next();
  reflector.listed("", "120");
  const ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kWatch);
  CHECK(asks(step, "resourceVersion=120"));
}

TEST_CASE_FIXTURE(Fixture, "a version that the server has never had leads to a list from etcd") {
  begin_anew();
  reflector.next();
  reflector.list_failed(error(ErrorCode::kGone));
  const ReflectorStep step = reflector.next();
  CHECK(step.wait >= milliseconds(800));
  CHECK(is_from_etcd(step));
  reflector.list_failed(error(ErrorCode::kUnavailable));
  CHECK(is_from_etcd(reflector.next()));
}

TEST_CASE_FIXTURE(Fixture, "a list that cannot be had from the cache for long is read from etcd") {
  begin_anew();
  unsigned tries = 0;
  while (!is_from_etcd(reflector.next()) && tries < 100) {
    reflector.list_failed(error(ErrorCode::kUnavailable));
    ++tries;
  }
  CHECK(tries == options.most_from_cache);
}

TEST_CASE_FIXTURE(Fixture, "a list that is too large to come at once is asked for in pages") {
  begin_anew();
  reflector.next();
  reflector.list_failed(error(ErrorCode::kNoSpace));
  const ReflectorStep step = reflector.next();
  CHECK(step.wait == seconds(0));
  CHECK(is_from_etcd(step));
}

TEST_CASE_FIXTURE(Fixture, "a watch that cannot be resumed for long begins anew from a list") {
  list();
  unsigned tries = 0;
  while (reflector.next().kind == Kind::kWatch && tries < 100) {
    reflector.watch_failed(error(ErrorCode::kUnavailable));
    ++tries;
  }
  CHECK(tries == options.most_resumes + 1);
}

TEST_CASE_FIXTURE(Fixture, "where nothing changes, a silent watch is resumed at once") {
  list();
  for (unsigned i = 0; i < options.most_resumes; ++i) {
    reflector.next();
    reflector.watch_silent();
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kWatch);
    CHECK(step.wait == seconds(0));
    CHECK(asks(step, "resourceVersion=100"));
  }
  SUBCASE("and begun anew from a list in the end, for its version may be yet to come") {
    reflector.watch_silent();
    const ReflectorStep step = reflector.next();
    CHECK(step.kind == Kind::kListFromStart);
    CHECK(asks(step, "resourceVersion=100"));
    CHECK(step.wait == seconds(0));
    reflector.listed("", "100");
    reflector.watch_silent();
    CHECK(reflector.next().kind == Kind::kWatch);
  }
  SUBCASE("and is not begun anew when there was something to hear") {
    reflector.watched("101");
    reflector.watch_silent();
    CHECK(reflector.next().kind == Kind::kWatch);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "a page that fails is asked for again, and pages that are gone from the start") {
  reflector.next();
  reflector.listed("more", "100");
  reflector.next();
  reflector.list_failed(error(ErrorCode::kUnavailable));
  ReflectorStep step = reflector.next();
  CHECK(step.kind == Kind::kListOn);
  CHECK(asks(step, "continue=more"));
  reflector.list_failed(error(ErrorCode::kGone));
  step = reflector.next();
  CHECK(step.kind == Kind::kListFromStart);
  CHECK_FALSE(asks(step, "continue=more"));
}

TEST_CASE_FIXTURE(Fixture, "a page that is too large is asked for in halves, down to one object") {
  reflector.next();
  reflector.listed("more", "100");
  for (const char* const limit : {"limit=250", "limit=125", "limit=62"}) {
    reflector.list_failed(error(ErrorCode::kNoSpace));
    const ReflectorStep step = reflector.next();
    CHECK(step.wait == seconds(0));
    CHECK(step.kind == Kind::kListOn);
    CHECK(asks(step, "continue=more"));
    CHECK(asks(step, limit));
  }
  for (int i = 0; i < 20; ++i) reflector.list_failed(error(ErrorCode::kNoSpace));
  const ReflectorStep last = reflector.next();
  CHECK(asks(last, "limit=1"));
  CHECK(last.wait >= milliseconds(800));
}

// Two API servers behind one address, one of them away, or one that comes and goes.
TEST_CASE_FIXTURE(Fixture, "a server that is there by turns is asked less and less") {
  list();
  for (int i = 0; i < 100; ++i) {
    reflector.next();
    reflector.watch_failed(error(i % 2 == 0 ? ErrorCode::kUnavailable : ErrorCode::kDenied));
  }
  CHECK(reflector.next().wait > seconds(5));
}

}  // namespace flexlocal::kube::test
