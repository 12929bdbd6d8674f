#include "provisioner/kube/server_warnings.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/curl_http.h"
#include "test/unit/kube/byte_sink.h"
#include "test/unit/kube/lab.h"
#include "test/unit/kube/scripted_server.h"

namespace flexlocal::kube::test {
namespace {

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the text of a warning is what stands in its quotes") {
  CHECK(parse_warnings(R"(299 - "this is deprecated")") == Texts{"this is deprecated"});
  CHECK(parse_warnings(R"( 299 kube:6443 "a \"b\" \\ c" "Tue, 15 Nov 1994 08:12:31 GMT" )") ==
        Texts{R"(a "b" \ c)"});
  CHECK(parse_warnings(R"(299 - "a, 299 - b", 299 - "c" "date",299 - "d")") ==
        Texts{"a, 299 - b", "c", "d"});
}

TEST_CASE("other warnings than those for a person to read are passed over") {
  CHECK(parse_warnings(R"(110 - "stale", 299 - "told", 299 - "", 299 - "  ")") == Texts{"told"});
}

TEST_CASE("a warning that is not as it should be ends the header, and nothing else") {
  for (const char* const value :
       {"", " ", "299", "299 -", "299 \"no agent\"", R"(299 - ")", R"(299 - "open)", R"(299 - "\)",
        R"(299 - unquoted)", ",", "\"\"\"\"", R"("299" - "a")"}) {
    INFO(value);
    CHECK(parse_warnings(value).empty());
  }
  CHECK(parse_warnings(R"(299 - "good" bad, 299 - "lost")") == Texts{"good"});
  CHECK(parse_warnings(std::string("299 - \"a\x01"
                                   "b\nc\xff\"")) == Texts{"a?b?c?"});
}

TEST_CASE("of one header only so much is taken") {
  std::string value;
  for (int i = 0; i < 100; ++i) value += concat(R"(299 - "text )", i, R"(",)");
  CHECK(parse_warnings(value).size() == 16);
  const Texts longest = parse_warnings(concat("299 - \"", std::string(100000, 'x'), '"'));
  REQUIRE(longest.size() == 1);
  CHECK(longest[0].size() < 1100);
}

TEST_CASE("each text is logged once, and only so many are remembered") {
  RecordingLog log;
  ServerWarnings warnings(log, 2);
  const auto take = [&](std::string_view line) { warnings.parse_header(line); };
  for (int i = 0; i < 3; ++i) take("Warning: 299 - \"first\"\r\n");
  take("WARNING: 299 - \"second\", 299 - \"first\"\r\n");
  take("X-Warning: 299 - \"not one\"\r\n");
  take("Warnin");
  take("");
  CHECK(log.lines.size() == 2);
  CHECK(log.has("level=warning msg=\"the API server warns\" text=first"));
  CHECK(log.has("text=second"));
  for (int i = 0; i < 5; ++i) take(concat("warning: 299 - \"more ", i, "\""));
  take("warning: 299 - \"first\"");
  CHECK(log.lines.size() == 3);
  CHECK(log.has("too many different warnings"));
}

TEST_CASE("warnings of answers and of watches are logged, those of a watch before it ends") {
  Lab lab;
  ScriptedServer server(lab.io, [](const Seen& seen) {
    const bool watches = seen.target == "/watch";
    Reply reply = watches ? stream({"x"}, Reply::End::kHang) : body("{}");
    reply.headers = {concat("Warning: 299 - \"", watches ? "of a watch" : "of an answer", '"')};
    return reply;
  });
  ClusterConfig config;
  config.server = server.url();
  const auto http = std::move(*CurlHttp::make(lab.io, lab.clock, lab.log, config));
  HttpRequest request;
  request.target = "/object";
  for (int i = 0; i < 2; ++i) CHECK(lab.wait_for(http->send(request)).ok());
  CHECK(lab.log.lines.size() == 1);
  CHECK(lab.log.has("of an answer"));
  HttpRequest watch;
  watch.target = "/watch";
  watch.trickles = true;
  KeepingSink sink;
  std::optional<Result<HttpResponse>> ended;
  lab.tasks.spawn(store(http->stream(watch, sink), ended));
  CHECK(lab.run_until([&] { return lab.log.has("of a watch"); }));
  CHECK_FALSE(ended.has_value());
  // The watch uses what is declared behind the lab, and ends before that.
  lab.tasks.cancel();
  CHECK(lab.run_until([&] { return ended.has_value(); }));
}

}  // namespace flexlocal::kube::test
