#include "flexvolume/base/text.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace flexlocal {

TEST_CASE("pieces of text and numbers are put together") {
  CHECK(concat("pool ", std::string("a"), ' ', 3, ' ', -7L, ' ', UINT64_MAX) ==
        "pool a 3 -7 18446744073709551615");
  CHECK(concat().empty());
  CHECK(join({"a", "b", "c"}, ", ") == "a, b, c");
  CHECK(join({}, ", ").empty());
}

TEST_CASE("splitting keeps empty pieces, the last one too, and an empty text has none") {
  using Pieces = std::vector<std::string_view>;
  CHECK(split("", ',').empty());
  CHECK(split("a", ',') == Pieces{"a"});
  CHECK(split("a,,b", ',') == Pieces{"a", "", "b"});
  CHECK(split(",a,", ',') == Pieces{"", "a", ""});
  CHECK(split(",", ',') == Pieces{"", ""});
}

TEST_CASE("white space around a text is taken off, inside it stays") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim(" \n").empty());
  CHECK(trim("").empty());
}

TEST_CASE("foreign text is made safe for one line and cut where it is too long") {
  CHECK(printable("a\nb\x1b[31m\x7f\tc") == "a?b?[31m??c");
  CHECK(printable(std::string_view("a\0b", 3)) == "a?b");
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
}

TEST_CASE("what comes out is UTF-8, whatever went in: a cut never splits a character") {
  const std::string_view umlaut = "\xc3\xa4";
  const std::string_view euro = "\xe2\x82\xac";
  const std::string_view clef = "\xf0\x9d\x84\x9e";
  for (const std::string_view whole : {umlaut, euro, clef}) {
    CHECK(printable(whole) == whole);
    CHECK(printable(concat("ab", whole), 2 + whole.size()) == concat("ab", whole));
    for (std::size_t limit = 2; limit < 2 + whole.size(); ++limit)
      CHECK(printable(concat("ab", whole, "c"), limit) == "ab...");
    // A character that the text itself cuts short is as many wrong bytes.
    for (std::size_t left = 1; left < whole.size(); ++left)
      CHECK(printable(whole.substr(0, left)) == std::string(left, '?'));
  }
  CHECK(printable("a\xff\x80 \xc3 b") == "a?? ? b");
  CHECK(printable("\xc0\xaf|\xe0\x80\xaf|\xf0\x80\x80\xaf") == "??|???|????");  // too long forms
  CHECK(printable("\xed\xa0\x80") == "???");                                    // a surrogate
  CHECK(printable("\xf4\x90\x80\x80|\xf8\x88\x80\x80\x80") == "????|?????");    // above U+10FFFF
  CHECK(printable("\xc2\x85") == "?");  // NEL, a control character of two bytes
  CHECK(printable("\xc2\xa0") == "\xc2\xa0");
}

TEST_CASE("a number is digits only, all of them, and within its limit") {
  unsigned long long number = 5;
  CHECK(parse_number("0", 9, number));
  CHECK(number == 0);
  CHECK(parse_number("18446744073709551615", UINT64_MAX, number));
  CHECK(number == UINT64_MAX);
  number = 5;
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "0x1", "1.0", "1e3", "18446744073709551616"})
    CHECK_FALSE(parse_number(text, UINT64_MAX, number));
  CHECK_FALSE(parse_number("10", 9, number));
  CHECK(number == 5);
}

}  // namespace flexlocal
