#include "provisioner/kube/watch_decoder.h"

#include <doctest/doctest.h>

#include <vector>

namespace flexlocal::kube::test {
namespace {

struct Names final : WatchEventSink {
  std::vector<std::string> seen;
  Status take(const WatchEvent& event) override {
    seen.push_back(std::string(event.object["metadata"]["name"].text()));
    if (event.type == WatchEventType::kError) return Error(ErrorCode::kGone, "too old");
    return {};
  }
};

const std::string kTwo = R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
                         "\n"
                         R"({"type":"BOOKMARK","object":{"metadata":{"name":"b"}}})"
                         "\n";

}  // namespace

TEST_CASE("events come out the same wherever the stream is cut") {
  for (std::size_t cut = 0; cut <= kTwo.size(); ++cut) {
    Names names;
    WatchDecoder decoder(names);
    CHECK(decoder.take(std::string_view(kTwo).substr(0, cut)).ok());
    CHECK(decoder.take(std::string_view(kTwo).substr(cut)).ok());
    CHECK(names.seen == std::vector<std::string>{"a", "b"});
  }
}

TEST_CASE("an event cut in the middle yields nothing") {
  for (std::size_t cut = 0; cut + 1 < kTwo.size() / 2; ++cut) {
    Names names;
    WatchDecoder decoder(names);
    CHECK(decoder.take(std::string_view(kTwo).substr(0, cut)).ok());
    CHECK(names.seen.empty());
  }
}

TEST_CASE("the sink's refusal ends the decoding") {
  Names names;
  WatchDecoder decoder(names);
  const auto taken = decoder.take("{\"type\":\"ERROR\",\"object\":{}}\n" + kTwo);
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().code() == ErrorCode::kGone);
  CHECK(names.seen.size() == 1);
}

TEST_CASE("types of events that are not known yet are stepped over") {
  Names names;
  WatchDecoder decoder(names);
  CHECK(decoder.take("{\"type\":\"NEWS\",\"object\":{}}\n\r\n").ok());
  CHECK(names.seen.empty());
}

TEST_CASE("what is not a watch event is corrupt") {
  for (const char* const line : {"{", "[]", "{\"type\":\"ADDED\"}", "{\"object\":{}}", "null",
                                 "{\"type\":\"ADDED\",\"object\":1}"}) {
    Names names;
    WatchDecoder decoder(names);
    const auto taken = decoder.take(std::string(line) + "\n");
    REQUIRE_FALSE(taken.ok());
    CHECK(taken.error().code() == ErrorCode::kCorrupt);
  }
}

TEST_CASE("a line without an end is refused before it fills the memory") {
  Names names;
  WatchDecoder decoder(names, 64);
  CHECK(decoder.take(std::string(40, ' ')).ok());
  const auto taken = decoder.take(std::string(40, ' '));
  REQUIRE_FALSE(taken.ok());
  CHECK(taken.error().code() == ErrorCode::kInvalid);
}

}  // namespace flexlocal::kube::test
