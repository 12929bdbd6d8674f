#include "flexvolume/base/text.h"

#include <doctest/doctest.h>

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
