#include "provisioner/kube/object_store.h"

#include "test/unit/kube/lab.h"

namespace flexlocal::kube::test {
namespace {

std::optional<std::string> decode(JsonView object) {
  const std::string_view value = object["value"].text();
  if (value == "not ours") return std::nullopt;
  return std::string(value);
}

struct Fixture {
  std::vector<std::string> changed;
  ObjectStore<std::string>::Handlers handlers{
      [this](const std::string& key) { changed.push_back(key); }};
  ObjectStore<std::string> store{decode, handlers};

  static JsonDocument object(std::string_view name, int version, std::string_view value) {
    return std::move(
        *JsonDocument::parse(concat(R"({"metadata":{"name":")", name, R"(","resourceVersion":")",
                                    version, R"("},"value":")", value, R"("})")));
  }
  void list(const std::vector<std::string>& names, int version) {
    store.list_began();
    for (const std::string& name : names) store.listed(object(name, version, "listed").root());
    store.list_ended(concat(version));
  }
  std::string value(const std::string& key) const {
    const std::string* const found = store.get(key);
    return found == nullptr ? "none" : *found;
  }
};

}  // namespace

TEST_CASE("an object's key is namespace/name, or name alone") {
  const auto with = JsonDocument::parse(R"({"metadata":{"namespace":"n","name":"x"}})");
  const auto without = JsonDocument::parse(R"({"metadata":{"name":"x"}})");
  CHECK(object_key(with->root()) == "n/x");
  CHECK(object_key(without->root()) == "x");
  CHECK(object_key(JsonView()).empty());
}

TEST_CASE("versions compare as numbers, whatever their length, and never when one is opaque") {
  CHECK(ObjectVersion("100").newer_than(ObjectVersion("99")));
  CHECK_FALSE(ObjectVersion("99").newer_than(ObjectVersion("100")));
  CHECK(ObjectVersion("1").newer_than(ObjectVersion()));
  CHECK_FALSE(ObjectVersion("x2").newer_than(ObjectVersion("1")));
  CHECK_FALSE(ObjectVersion("2").newer_than(ObjectVersion("x1")));
  CHECK(ObjectVersion("x") == ObjectVersion("x"));
  CHECK_FALSE(ObjectVersion() == ObjectVersion());
}

TEST_CASE_FIXTURE(Fixture, "synced means that a whole list was taken in") {
  store.list_began();
  store.listed(object("a", 1, "1").root());
  CHECK_FALSE(store.has_synced());
  store.list_ended("1");
  CHECK(store.has_synced());
  CHECK(value("a") == "1");
}

TEST_CASE_FIXTURE(Fixture, "what vanished between two lists is told as deleted") {
  list({"a", "b"}, 10);
  changed.clear();
  list({"b"}, 20);
  CHECK(value("a") == "none");
  CHECK(changed == std::vector<std::string>{"b", "a"});
}

TEST_CASE_FIXTURE(Fixture, "a list that breaks off deletes nothing") {
  list({"a", "b"}, 10);
  store.list_began();
  store.listed(object("b", 20, "x").root());
  list({"a", "b"}, 30);
  CHECK(store.size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "an unchanged object of a fresh list is told to nobody") {
  list({"a"}, 10);
  changed.clear();
  store.list_began();
  store.listed(object("a", 10, "listed").root());
  store.list_ended("15");
  CHECK(changed.empty());
  CHECK(value("a") == "listed");
}

TEST_CASE_FIXTURE(Fixture, "an object that no longer concerns us counts as deleted") {
  list({"a"}, 10);
  changed.clear();
  store.applied(object("a", 11, "not ours").root());
  CHECK(value("a") == "none");
  CHECK(changed == std::vector<std::string>{"a"});
  store.applied(object("z", 12, "not ours").root());
  CHECK(changed.size() == 1);
}

TEST_CASE_FIXTURE(Fixture, "our own write is seen at once and older news does not undo it") {
  list({"a"}, 10);
  store.put(object("a", 15, "ours").root());
  CHECK(value("a") == "ours");
  store.applied(object("a", 12, "older").root());
  CHECK(value("a") == "ours");
  changed.clear();
  store.applied(object("a", 15, "ours").root());  // the watch brings our own write
  CHECK(changed.empty());
  store.applied(object("a", 16, "newer").root());
  CHECK(value("a") == "newer");
}

TEST_CASE_FIXTURE(Fixture,
                  "an answer that comes after the watch told of the deletion brings nothing back") {
  list({"a"}, 10);
  store.applied(object("a", 12, "ours").root());
  store.removed(object("a", 14, "gone").root());
  store.put(object("a", 12, "ours").root());
  CHECK(value("a") == "none");
}

TEST_CASE_FIXTURE(Fixture, "a deletion older than our own new object of that name leaves it") {
  list({"a"}, 10);
  store.put(object("a", 15, "made anew").root());
  store.removed(object("a", 13, "the old one").root());
  CHECK(value("a") == "made anew");
}

TEST_CASE_FIXTURE(Fixture,
                  "what we wrote while a list was being read survives the end of the list") {
  list({"a"}, 10);
  store.list_began();
  store.put(object("ours", 25, "new").root());
  store.listed(object("a", 10, "listed").root());
  store.list_ended("20");
  CHECK(value("ours") == "new");
}

TEST_CASE_FIXTURE(Fixture, "an opaque version is never put before the watch brings it") {
  list({"a"}, 10);
  const auto opaque =
      JsonDocument::parse(R"({"metadata":{"name":"b","resourceVersion":"abc"},"value":"x"})");
  store.put(opaque->root());
  CHECK(value("b") == "none");
  store.applied(opaque->root());
  CHECK(value("b") == "x");
}

namespace {

// Kept packed.
struct Thing {
  std::string name;
  std::string phase;

  void pack(Packer& packer) const { packer.text(name), packer.symbol(phase); }
  static Thing unpack(Unpacker& unpacker) {
    Thing thing;
    unpacker.text(thing.name), unpacker.symbol(thing.phase);
    return thing;
  }
};

std::optional<Thing> decode_thing(JsonView object) {
  if (object["value"].text() == "not ours") return std::nullopt;
  return Thing{std::string(object["metadata"]["name"].text()), std::string(object["value"].text())};
}

}  // namespace

TEST_CASE("a store that packs has what was told last, and what was found stays as it was") {
  const ObjectStore<Thing>::Handlers nobody;
  ObjectStore<Thing> store(decode_thing, nobody);
  const auto tell = [&](std::string_view name, int version, std::string_view value) {
    store.applied(Fixture::object(name, version, value).root());
  };
  tell("a", 1, "one");
  tell("b", 2, "one");
  const auto first = store.get("a");
  tell("a", 3, "two");
  tell("c", 4, "two");
  CHECK(first->phase == "one");
  CHECK(store.get("a")->phase == "two");
  CHECK(store.get("b")->phase == "one");
  tell("b", 5, "not ours");
  CHECK(store.get("b") == nullptr);
  store.removed(Fixture::object("a", 6, "two").root());
  tell("d", 7, "three");
  CHECK(store.get("c")->phase == "two");
  CHECK(store.get("d")->name == "d");
  std::vector<std::string> names;
  store.for_each([&](const std::string& key, const Thing& thing) {
    CHECK(key == thing.name);
    names.push_back(key);
  });
  CHECK(names.size() == 2);
}

}  // namespace flexlocal::kube::test
