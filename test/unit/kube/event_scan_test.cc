#include "provisioner/kube/event_scan.h"

#include <doctest/doctest.h>

#include <random>

#include "flexvolume/base/json.h"
#include "flexvolume/base/text.h"

namespace flexlocal::kube::test {
namespace {

const std::string kLine =
    R"({"type":"MODIFIED","object":{"kind":"PersistentVolumeClaim","apiVersion":"v1",)"
    R"("metadata":{"name":"data","namespace":"shop","uid":"u","resourceVersion":"17",)"
    R"("annotations":{"a":"say \"{\\\"","name":"other"},"labels":{"x":"]"},)"
    R"("managedFields":[{"f":"]"}],"ownerReferences":[)"
    R"({"name":"owner","controller":true}]},"spec":{"metadata":{"name":"inner"},"size":[1,-2.5e3]},)"
    R"("status":{}}})";

// What a tree says of the same line.
void check_agrees(std::string_view line) {
  const auto head = scan_event(line);
  if (!head) return;
  const auto tree = JsonDocument::parse(line);
  if (!tree) return;  // the scan does not look at everything that it steps over
  const JsonView metadata = tree->root()["object"]["metadata"];
  CHECK(head->type == tree->root()["type"].text());
  CHECK(head->name == metadata["name"].text());
  CHECK(head->namespace_name == metadata["namespace"].text());
  CHECK(head->version == metadata["resourceVersion"].text());
}

}  // namespace

TEST_CASE("type, key and version of an event are found wherever else their names stand") {
  const auto head = scan_event(kLine);
  REQUIRE(head.has_value());
  CHECK(head->type == "MODIFIED");
  CHECK(head->key() == "shop/data");
  CHECK(head->version == "17");
  CHECK(head->managed_fields == R"([{"f":"]"}])");
  const auto spaced = scan_event(
      " { \"object\" : { \"metadata\" : { \"resourceVersion\" : \"1\" , \"name\" : \"n\" } , "
      "\"x\" : null } , \"type\" : \"ADDED\" }\r");
  REQUIRE(spaced.has_value());
  CHECK(spaced->key() == "n");
}

TEST_CASE("what is not plainly an event is left to the parser") {
  for (
      const char* const line :
      {"", "{}", "[]", "null", "{\"type\":\"ADDED\"}", "{\"type\":\"ADDED\",\"object\":{}}",
       R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})",
       R"({"type":1,"object":{"metadata":{"name":"a","resourceVersion":"1"}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":7,"resourceVersion":"1"}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"\u0061","resourceVersion":"1"}}})",
       R"({"type":"ADDED","object":{"metadata":{"n\u0061me":"a","name":"b","resourceVersion":"1"}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"a","name":"b","resourceVersion":"1"}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"metadata":{}}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}} x)",
       R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}})",
       R"({"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},}})"})
    CHECK_FALSE(scan_event(line));
  const std::string deep = concat(R"({"type":"ADDED","object":{"metadata":{"name":"a",)",
                                  R"("resourceVersion":"1"},"x":)", std::string(1000, '['),
                                  std::string(1000, ']'), "}}");
  CHECK_FALSE(scan_event(deep));
}

TEST_CASE("no line that is cut is taken for a whole one") {
  for (std::size_t cut = 0; cut < kLine.size(); ++cut)
    CHECK_FALSE(scan_event(std::string_view(kLine).substr(0, cut)));
}

TEST_CASE("the scan agrees with the parser on lines with random damage") {
  std::mt19937_64 random(3);
  const std::string_view pieces = "\"\\{}[],:n1 \xff";
  for (int round = 0; round < 20000; ++round) {
    std::string line = kLine;
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % line.size();
      const char piece = pieces[random() % pieces.size()];
      if (random() % 2 == 0)
        line[at] = piece;
      else
        line.insert(at, 1, piece);
    }
    check_agrees(line);
  }
}

}  // namespace flexlocal::kube::test
