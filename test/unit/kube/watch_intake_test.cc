#include "provisioner/kube/watch_intake.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "provisioner/kube/object_store.h"

namespace flexlocal::kube::test {
namespace {

struct Thing {
  std::string name;
};

std::optional<Thing> decode(JsonView object) {
  if (object["by"].text() != "us.io") return std::nullopt;
  return Thing{std::string(object["metadata"]["name"].text())};
}

struct Fixture {
  ResourceKind kind{"things", "/things", "", "", {"\"us.io\""}};
  ReflectorOptions options{.seed = 1};
  std::vector<std::string> changed;
  const std::vector<std::function<void(const std::string&)>> handlers = {
      [this](const std::string& key) { changed.push_back(key); }};
  ObjectStore<Thing> store{decode, handlers};
  Reflector reflector{kind, options};
  ReflectorStats stats;
  int version = 0;
  WatchIntake intake{kind, reflector, store, stats};
  WatchDecoder decoder{intake};

  Status take(const std::string& line) { return decoder.take(line + "\n"); }
  static std::string event(const std::string& type, const std::string& name, int version,
                           const std::string& by) {
    return concat(R"({"type":")", type, R"(","object":{"metadata":{"name":")", name,
                  R"(","resourceVersion":")", version, R"("},"by":")", by, R"("}})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "what does not concern us is passed over, and its version is known") {
  CHECK(take(event("ADDED", "a", 1, "them.io")).ok());
  CHECK(take(event("DELETED", "a", 2, "them.io")).ok());
  CHECK(stats.passed_over.value() == 2);
  CHECK(stats.events.value() == 2);
  CHECK(reflector.version() == "2");
  CHECK(store.size() == 0);
  CHECK(changed.empty());
}

TEST_CASE_FIXTURE(Fixture,
                  "an event older than one before it ends the watch, and leads to a list") {
  CHECK(take(event("DELETED", "a", 3, "us.io")).ok());
  for (const char* const by : {"us.io", "them.io"}) {
    const Status refused = take(event("ADDED", "a", 2, by));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().code() == ErrorCode::kGone);
    CHECK(refused.error().message() == "the watch went back from version 3 to 2");
  }
  CHECK(store.size() == 0);
  CHECK(reflector.version() == "3");
}

TEST_CASE_FIXTURE(Fixture, "an event that comes twice does no harm") {
  for (int i = 0; i < 2; ++i) CHECK(take(event("ADDED", "a", 3, "us.io")).ok());
  for (int i = 0; i < 2; ++i) CHECK(take(event("DELETED", "a", 4, "us.io")).ok());
  CHECK(store.size() == 0);
  CHECK(changed == std::vector<std::string>{"a", "a"});
}

TEST_CASE_FIXTURE(Fixture,
                  "a write of our own, known by its answer, is passed over, its end is not") {
  CHECK(take(event("ADDED", "a", 3, "us.io")).ok());
  CHECK(take(event("MODIFIED", "a", 3, "us.io")).ok());
  CHECK(stats.passed_over.value() == 1);
  CHECK(changed == std::vector<std::string>{"a"});
  CHECK(take(event("DELETED", "a", 3, "us.io")).ok());
  CHECK(store.get("a") == nullptr);
  CHECK(reflector.version() == "3");
}

TEST_CASE_FIXTURE(Fixture, "what concerns us is taken in, and what comes to do so as well") {
  CHECK(take(event("ADDED", "a", 1, "us.io")).ok());
  CHECK(take(event("ADDED", "b", 2, "them.io")).ok());
  CHECK(take(event("MODIFIED", "b", 3, "us.io")).ok());
  CHECK(stats.passed_over.value() == 1);
  CHECK(store.get("a") != nullptr);
  CHECK(store.get("b") != nullptr);
  CHECK(reflector.version() == "3");
}

TEST_CASE_FIXTURE(Fixture, "what concerns us no longer is forgotten") {
  CHECK(take(event("ADDED", "a", 1, "us.io")).ok());
  CHECK(take(event("MODIFIED", "a", 2, "them.io")).ok());
  CHECK(store.get("a") == nullptr);
  CHECK(take(event("ADDED", "b", 3, "us.io")).ok());
  CHECK(take(event("DELETED", "b", 4, "them.io")).ok());
  CHECK(store.get("b") == nullptr);
  CHECK(stats.passed_over.value() == 0);
  CHECK(changed == std::vector<std::string>{"a", "a", "b", "b"});
}

TEST_CASE_FIXTURE(Fixture,
                  "an object that hides the mark behind escapes is taken in all the same") {
  CHECK(take(event("ADDED", "a", 1, "u\\u0073.io")).ok());
  CHECK(store.get("a") != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "bookmarks and errors are never passed over, nor what is no event") {
  CHECK(
      take(R"({"type":"BOOKMARK","object":{"metadata":{"name":"","resourceVersion":"9"}}})").ok());
  CHECK(reflector.version() == "9");
  const Status gone =
      take(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"old",)"
           R"("metadata":{"name":"x","resourceVersion":"1"}}})");
  REQUIRE_FALSE(gone.ok());
  CHECK(gone.error().code() == ErrorCode::kGone);
  for (const char* const line : {"{", "x", R"({"type":"ADDED","object":{"metadata":{"name":"a")"}) {
    WatchDecoder another(intake);
    CHECK_FALSE(another.take(concat(line, "\n")).ok());
  }
  CHECK(stats.passed_over.value() == 0);
}

TEST_CASE_FIXTURE(Fixture, "an object with managed fields is the same without them") {
  kind.marks.clear();
  for (const char* const fields : {"[]", R"([{"manager":"\"]","f":{"f:spec":{}}}])", "null"}) {
    changed.clear();
    CHECK(take(concat(R"({"type":"ADDED","object":{"metadata":{"managedFields":)", fields,
                      R"(,"name":"a","resourceVersion":")", ++version, R"("},"by":"us.io"}})"))
              .ok());
    CHECK(changed == std::vector<std::string>{"a"});
  }
  REQUIRE(store.get("a") != nullptr);
  CHECK(store.get("a")->name == "a");
}

TEST_CASE_FIXTURE(Fixture, "any of several marks will do, also one that is added later") {
  CHECK(take(event("ADDED", "a", 1, "them.io")).ok());
  CHECK(stats.passed_over.value() == 1);
  kind.marks.emplace_back("\"them.io\"");
  CHECK(take(event("ADDED", "b", 2, "them.io")).ok());
  CHECK(take(event("ADDED", "c", 3, "us.io")).ok());
  CHECK(stats.passed_over.value() == 1);
  CHECK(store.get("c") != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "without a mark everything is taken in") {
  kind.marks.clear();
  CHECK(take(event("ADDED", "a", 1, "them.io")).ok());
  CHECK(stats.passed_over.value() == 0);
  CHECK(store.size() == 0);
}

}  // namespace flexlocal::kube::test
