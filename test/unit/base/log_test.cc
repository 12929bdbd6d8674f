#include "flexvolume/base/log.h"

#include <doctest/doctest.h>

namespace flexlocal {

TEST_CASE("a line is level, message and fields, quoted where they need it") {
  CHECK(format_log_line(LogLevel::kInfo, "volume made", {{"volume", "pvc-1"}, {"size", "1 GiB"}}) ==
        R"(level=info msg="volume made" volume=pvc-1 size="1 GiB")");
  CHECK(format_log_line(LogLevel::kError, "x", {{"empty", ""}, {"q", "a\"b\\c"}, {"e", "a=b"}}) ==
        R"(level=error msg=x empty="" q="a\"b\\c" e="a=b")");
}

TEST_CASE("no value can begin a line or a field of its own") {
  const std::string line = format_log_line(
      LogLevel::kWarning, "m", {{"a", "x\nlevel=error msg=forged"}, {"b", "\x1b[2J"}, {"c", "\r"}});
  CHECK(line == "level=warning msg=m a=\"x\\nlevel=error msg=forged\" b=?[2J c=\"?\"");
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("a line is UTF-8, whatever its values are") {
  CHECK(format_log_line(LogLevel::kInfo, "m", {{"a", "\xff"}, {"b", "x \xc3"}, {"c", "\x7f y"}}) ==
        R"(level=info msg=m a=? b="x ?" c="? y")");
}

TEST_CASE("levels are read by the words that they are written with, and by no others") {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    LogLevel read = LogLevel::kDebug;
    CHECK(parse_log_level(to_string(level), read));
    CHECK(read == level);
  }
  LogLevel kept = LogLevel::kWarning;
  for (const char* text : {"", "Info", "warn", "info ", "2"})
    CHECK_FALSE(parse_log_level(text, kept));
  CHECK(kept == LogLevel::kWarning);
}

}  // namespace flexlocal
