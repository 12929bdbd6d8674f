#include "provisioner/kube/list_intake.h"

#include <doctest/doctest.h>

#include "flexvolume/base/text.h"
#include "provisioner/kube/object_store.h"

namespace flexlocal::kube::test {
namespace {

int trees = 0;

std::optional<std::string> decode(JsonView object) {
  ++trees;
  CHECK_FALSE(object["metadata"]["managedFields"].is_array());
  if (object["by"].text() != "us.io") return std::nullopt;
  return std::string(object["metadata"]["name"].text());
}

struct Fixture {
  ResourceKind kind{"things", "/things", "", "", {"\"us.io\""}};
  const std::vector<std::function<void(const std::string&)>> handlers;
  ObjectStore<std::string> store{decode, handlers};
  ListIntake intake{kind, store};

  Fixture() {
    trees = 0;
    store.list_began();
  }
  static std::string item(const std::string& name, const std::string& by, int version = 1) {
    return concat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")", version,
                  R"(","managedFields":[{"manager":"x"}]},"by":")", by, R"("})");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "of a list's objects only those that may concern us become trees") {
  CHECK(intake.take(item("a", "us.io")).ok());
  CHECK(intake.take(item("b", "them.io")).ok());
  CHECK(intake.take(item("c", R"(us\u002eio)")).ok());
  CHECK(trees == 2);
  CHECK(store.get("a") != nullptr);
  CHECK(store.get("b") == nullptr);
  CHECK(store.get("c") != nullptr);
}

TEST_CASE_FIXTURE(Fixture, "an object that concerns us no longer is taken out, whatever it says") {
  CHECK(intake.take(item("a", "us.io")).ok());
  CHECK(intake.take(item("a", "them.io", 2)).ok());
  CHECK(store.get("a") == nullptr);
}

TEST_CASE_FIXTURE(Fixture, "an object of ours that is no JSON is refused") {
  const Status taken = intake.take(R"({"metadata":{"name":"a"},"by":"us.io",})");
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().code() == ErrorCode::kCorrupt);
}

}  // namespace flexlocal::kube::test
