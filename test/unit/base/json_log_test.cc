#include "flexvolume/base/json_log.h"

#include <doctest/doctest.h>

#include "flexvolume/base/json.h"
#include "flexvolume/base/wall_time.h"

namespace flexlocal {

TEST_CASE("a JSON line is time, level, message and the keys") {
  CHECK(format_json_line("2024-05-01T10:00:00.250Z", LogLevel::kInfo, "volume made",
                         {{"volume", "pvc-1"}, {"size", "1 GiB"}, {"empty", ""}}) ==
        R"({"time":"2024-05-01T10:00:00.250Z","level":"info","message":"volume made",)"
        R"("volume":"pvc-1","size":"1 GiB","empty":""})");
}

TEST_CASE("a JSON line is one line of valid JSON whatever its values are") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& hostile :
       {all, std::string("x\",\"level\":\"error"), std::string("a\n{\"forged\":1}\r\n"),
        std::string("\\"), std::string("\xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80"),
        std::string("\0\x1b[2J", 5), std::string("cut \xe2\x82")}) {
    const std::string line =
        format_json_line("t", LogLevel::kWarning, hostile, {{"value", hostile}, {"last", "one"}});
    CHECK(line.find('\n') == std::string::npos);
    const auto parsed = JsonDocument::parse(line);  // checks UTF-8, too
    REQUIRE(parsed.ok());
    CHECK(parsed->root()["level"].text() == "warning");
    CHECK(parsed->root()["last"].text() == "one");
    CHECK(parsed->root()["message"].text() == parsed->root()["value"].text());
  }
}

TEST_CASE("what JSON can say is not lost: quotes, backslashes, new lines and other characters") {
  const std::string text = "say \"x\\y\"\n\ttwo \xc3\xa4 \xf0\x9f\x98\x80";
  const auto parsed = JsonDocument::parse(format_json_line("t", LogLevel::kInfo, text, {}));
  REQUIRE(parsed.ok());
  CHECK(parsed->root()["message"].text() == text);
}

TEST_CASE("formats are read by their words and by no others") {
  LogFormat format = LogFormat::kText;
  CHECK(parse_log_format("json", format));
  CHECK(format == LogFormat::kJson);
  for (const char* text : {"", "JSON", "yaml", "json "})
    CHECK_FALSE(parse_log_format(text, format));
  CHECK(format == LogFormat::kJson);
  CHECK(parse_log_format("text", format));
  CHECK(format == LogFormat::kText);
}

TEST_CASE("a time has milliseconds and is in UTC, before the epoch as well") {
  using std::chrono::milliseconds;
  const std::chrono::system_clock::time_point epoch{};
  CHECK(format_wall_time(epoch + milliseconds(1'714'557'600'250)) == "2024-05-01T10:00:00.250Z");
  CHECK(format_wall_time(epoch - milliseconds(1)) == "1969-12-31T23:59:59.999Z");
}

}  // namespace flexlocal
