#include "provisioner/kube/list_decoder.h"

#include <doctest/doctest.h>

#include <vector>

#include "flexvolume/base/text.h"

namespace flexlocal::kube::test {
namespace {

struct Texts final : ListItemSink {
  std::vector<std::string> seen;
  std::string refused;
  Status take(std::string_view item) override {
    if (item == refused) return Error(ErrorCode::kFailed, "not wanted");
    seen.emplace_back(item);
    return {};
  }
};

using Items = std::vector<std::string>;

// What is wrong with it, if it comes as one piece and ends there.
std::optional<ErrorCode> trouble_of(std::string_view answer, ListLimits limits = {}) {
  Texts texts;
  ListDecoder decoder(texts, limits);
  if (const Status taken = decoder.take(answer); !taken) return taken.error().code();
  const auto shell = decoder.finish();
  if (!shell) return shell.error().code();
  return std::nullopt;
}

const std::string kFirst = R"({"metadata":{"name":"a"},"items":[{"no":"item"}],"x":[]})";
const std::string kSecond = R"({"text":"\"]}, {\\","n":1.5e3,"t":true})";
const std::string kList =
    concat(R"({"kind":"List","metadata":{"items":[1],"continue":"more"}, "items": [)", kFirst,
           " ,\n", kSecond, R"( ] ,"after":"items"})");

}  // namespace

TEST_CASE("items come out one by one, and the same wherever the answer is cut") {
  for (std::size_t cut = 0; cut <= kList.size(); ++cut) {
    Texts texts;
    ListDecoder decoder(texts);
    CHECK(decoder.take(std::string_view(kList).substr(0, cut)).ok());
    CHECK(decoder.take(std::string_view(kList).substr(cut)).ok());
    CHECK(texts.seen == Items{kFirst, kSecond});
    const auto shell = decoder.finish();
    REQUIRE(shell.ok());
    CHECK(shell->root()["metadata"]["continue"].text() == "more");
    CHECK(shell->root()["items"].size() == 0);
  }
}

TEST_CASE("an item comes with its last byte, not with the end of the answer") {
  Texts texts;
  ListDecoder decoder(texts);
  CHECK(decoder.take(concat(R"({"items":[)", kFirst)).ok());
  CHECK(texts.seen == Items{kFirst});
  CHECK_FALSE(decoder.finish().ok());
}

TEST_CASE("items may stand before the rest, and there may be none") {
  CHECK_FALSE(trouble_of(R"({"items":[{}],"metadata":{"resourceVersion":"1"}})"));
  CHECK_FALSE(trouble_of(R"({"items":[ ],"metadata":{}})"));
  CHECK_FALSE(trouble_of(R"({"items":null,"metadata":{}})"));
  CHECK_FALSE(trouble_of(R"({})"));
}

TEST_CASE("an answer that is cut off is no list, wherever it is cut") {
  for (std::size_t length = 0; length < kList.size(); ++length)
    CHECK(trouble_of(std::string_view(kList).substr(0, length)) == ErrorCode::kInvalid);
}

TEST_CASE("items that are no list of objects are refused") {
  for (const std::string_view items :
       {"1", "\"a\"", "[]", "{}{}", "{},", ",{}", "{},,{}", "{} null", "}"})
    CHECK(trouble_of(concat(R"({"items":[)", items, "]}")) == ErrorCode::kCorrupt);
  CHECK(trouble_of(R"({"items":[{}]]})") == ErrorCode::kInvalid);
  CHECK(trouble_of(R"({"items":[{}]} more)") == ErrorCode::kInvalid);
}

TEST_CASE("nothing grows without bounds") {
  const ListLimits small{.item = kSecond.size(), .shell = 60, .whole = 200};
  const std::string one = concat(R"({"items":[)", kSecond, "]}");
  CHECK_FALSE(trouble_of(one, small));
  CHECK(trouble_of(concat(R"({"items":[)", kFirst, "]}"), small) == ErrorCode::kInvalid);
  CHECK(trouble_of(concat(R"({"x":")", std::string(60, 'x'), R"("})"), small) ==
        ErrorCode::kInvalid);
  CHECK(trouble_of(std::string(201, ' '), {.shell = 300, .whole = 200}) == ErrorCode::kNoSpace);
  Texts texts;
  ListDecoder decoder(texts, {.whole = 200});
  CHECK(decoder.take(R"({"items":[{}]})").ok());
  CHECK_FALSE(decoder.take(std::string(190, ' ')).ok());
}

TEST_CASE("a sink that refuses an item ends the list with its own error") {
  Texts texts;
  texts.refused = kSecond;
  ListDecoder decoder(texts);
  const Status taken = decoder.take(kList);
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().message() == "not wanted");
  CHECK(texts.seen == Items{kFirst});
}

}  // namespace flexlocal::kube::test
