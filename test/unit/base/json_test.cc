#include "flexvolume/base/json.h"

#include <doctest/doctest.h>

#include <random>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

JsonDocument parsed(std::string_view text) {
  auto document = JsonDocument::parse(text);
  REQUIRE(document.ok());
  return std::move(*document);
}

bool refused(std::string_view text, JsonLimits limits = {}) {
  const auto document = JsonDocument::parse(text, limits);
  return !document.ok() && document.error().code() == ErrorCode::kInvalid;
}

}  // namespace

TEST_CASE("what is missing or of another type reads as absent, at any depth") {
  const JsonDocument document = parsed(R"({"a":{"b":"x","n":1,"l":[true]},"z":null})");
  const JsonView root = document.root();
  CHECK(root["a"]["b"].text() == "x");
  CHECK(root["a"]["b"]["c"]["d"].text().empty());
  CHECK_FALSE(root["a"]["none"].exists());
  CHECK_FALSE(root["a"]["n"].string().has_value());
  CHECK(root["a"]["n"].integer() == 1);
  CHECK(root["a"]["l"].at(0).boolean() == true);
  CHECK_FALSE(root["a"]["l"].at(1).exists());
  CHECK(root["a"].size() == 0);
  CHECK(root["z"].exists());
  CHECK_FALSE(root["z"].is_object());
  CHECK(JsonView()["a"].at(3).text().empty());
}

TEST_CASE("members come in order, and a map of texts leaves everything else out") {
  const JsonDocument document = parsed(R"({"b":"1","a":2,"c":"3","d":{"e":"f"}})");
  std::string keys;
  document.root().for_each_member([&](std::string_view key, JsonView) { keys += key; });
  CHECK(keys == "bacd");
  CHECK(document.root().string_map() == std::map<std::string, std::string>{{"b", "1"}, {"c", "3"}});
}

TEST_CASE("UTF-8 is told from what is none as elsewhere, wherever it stands") {
  std::mt19937_64 random(5);
  const std::string good =
      "plain ascii, long enough \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x9f\xbf end";
  // At the borders of what may follow each other. None of them makes a control character, which
  // printable() changes, too.
  const std::string_view bytes =
      "\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1\xc3\xdf\xe0\xed\xef\xf0\xf4\xf5\xff";
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = good;
    for (std::uint64_t changes = random() % 4; changes > 0; --changes)
      text[random() % text.size()] = bytes[random() % bytes.size()];
    text.resize(text.size() - random() % 12);
    const std::string shown = printable(text, text.size());
    CHECK(JsonDocument::parse(concat('"', text, '"')).ok() == (shown == text));
    if (shown != text) ++refused;
  }
  CHECK(refused > 1000);
  CHECK(JsonDocument::parse("\"\x7f\"").ok());
  CHECK(JsonDocument::parse("\"\xc2\x80\"").ok());
  CHECK_FALSE(JsonDocument::parse("\"\xc2\"").ok());
}

TEST_CASE("what is not one JSON value in UTF-8 is refused") {
  for (const char* text : {"", " ", "{", "{}x", "{} {}", "{'a':1}", "{\"a\":1,}", "nul",
                           "\"\xff\xfe\"", "\"\xc0\x80\"", "[1e999]"})
    CHECK(refused(text));
  for (const char* half : {R"("\ud834")", R"("\udd1e")", R"("\ud834\n")", R"("\udd1e\ud834")",
                           R"("\ud834\udd1e\uDFFF")", R"("\\\udc00")", R"("\udc0)"})
    CHECK_MESSAGE(refused(half), half);
  CHECK(parsed(R"("\ud834\udd1e\\udc00\uD7FF\uE000")").root().text() ==
        "\xf0\x9d\x84\x9e\\udc00\xed\x9f\xbf\xee\x80\x80");
  // A NUL ends no text: what stands behind it would be passed over.
  CHECK(refused(std::string("{}\0", 3)));
  CHECK(refused(std::string("{}\0{\"a\":1}", 10)));
  CHECK(refused(std::string("\0", 1)));
}

TEST_CASE("what is too long or too deep is refused before a tree is built") {
  CHECK(refused("[1,2]", {.bytes = 4, .depth = 64}));
  CHECK_FALSE(refused("[1,2]", {.bytes = 5, .depth = 1}));
  CHECK(refused("[[1]]", {.bytes = 64, .depth = 1}));
  CHECK(refused(std::string(100'000, '[')));
  // Brackets in texts do not nest, also behind escaped quotes.
  CHECK_FALSE(refused(R"(["[[[\"[[["])", {.bytes = 64, .depth = 1}));
}

TEST_CASE("what is written reads back as it was, whatever the text holds") {
  const std::string odd("quote\" back\\ line\n nul\0 \xc3\xa9", 26);
  JsonWriter writer;
  writer.begin_object().member("odd", odd).key("n").integer(INT64_MIN);
  writer.key("l").begin_array().boolean(false).null().end_array().end_object();
  const std::string text = writer.take();
  CHECK(text.find('\n') == std::string::npos);
  const JsonDocument document = parsed(text);
  CHECK(document.root()["odd"].text() == odd);
  CHECK(document.root()["n"].integer() == INT64_MIN);
  CHECK(document.root()["l"].dump() == "[false,null]");
}

TEST_CASE("a value is copied whole from one document into another") {
  const JsonDocument document = parsed(R"({"spec":{"a":[1,{"b":null}]}})");
  JsonWriter writer;
  writer.begin_object().key("copy").value(document.root()["spec"]);
  writer.key("none").value(document.root()["none"]).end_object();
  CHECK(writer.take() == R"({"copy":{"a":[1,{"b":null}]},"none":null})");
}

}  // namespace flexlocal
