#include "flexvolume/base/bytes.h"

#include <doctest/doctest.h>

namespace flexlocal {
namespace {

std::uint64_t parsed(std::string_view text) {
  const auto size = parse_quantity(text);
  REQUIRE_MESSAGE(size.ok(), text);
  return size->count();
}

TEST_CASE("quantities are read as Kubernetes reads them") {
  CHECK(parsed("0") == 0);
  CHECK(parsed("512Mi") == 512ULL << 20U);
  CHECK(parsed("1.5Gi") == 3ULL << 29U);
  CHECK(parsed("10G") == 10'000'000'000ULL);
  CHECK(parsed("1e3") == 1000);
  CHECK(parsed("1E3") == 1000);
  CHECK(parsed("12e-1") == 2);
  CHECK(parsed("+5k") == 5000);
  CHECK(parsed(".5Ki") == 512);
  CHECK(parsed("5.") == 5);
  CHECK(parsed("7Ei") == 7ULL << 60U);
  CHECK(parsed("9223372036854775807") == kMostBytes.count());
}

TEST_CASE("zeros that change nothing are no reason to refuse, too many decimals are") {
  CHECK(parsed("000000000000000000000000000001Gi") == kGiB.count());
  CHECK(parsed("1.00000000000000000000Gi") == kGiB.count());
  CHECK(parsed("00.0") == 0);
  const auto fine = parse_quantity("0.0000000000001Ti");
  REQUIRE_FALSE(fine.ok());
  CHECK(fine.error().message().find("more than 12 decimals") != std::string::npos);
}

TEST_CASE("parts of a byte are rounded up, as in Quantity.Value") {
  CHECK(parsed("100m") == 1);
  CHECK(parsed("1001m") == 2);
  CHECK(parsed("1n") == 1);
  CHECK(parsed("0.1Ki") == 103);
}

TEST_CASE("what is no quantity, negative or too large is refused") {
  for (const auto* text : {"",
                           " ",
                           "Mi",
                           "-1",
                           "-1Gi",
                           "0x10",
                           "1 Gi",
                           "1GiB",
                           "1KI",
                           "1ki",
                           "1.2.3",
                           "1e",
                           "1e+",
                           "1e99999",
                           "nan",
                           "inf",
                           "8Ei",
                           "1e30",
                           "9223372036854775808",
                           "1Mi\n",
                           "."}) {
    const auto size = parse_quantity(text);
    CHECK_MESSAGE(!size.ok(), text);
    if (!size) CHECK(size.error().code() == ErrorCode::kInvalid);
  }
  CHECK_FALSE(parse_quantity(std::string(100'000, '9')).ok());
}

TEST_CASE("sizes are printed for people in the largest unit, never rounded up") {
  CHECK(to_string(Bytes(0)) == "0 B");
  CHECK(to_string(Bytes(1023)) == "1023 B");
  CHECK(to_string(Bytes(120 * kMiB.count())) == "120 MiB");
  CHECK(to_string(Bytes(1536 * kMiB.count())) == "1.5 GiB");
  CHECK(to_string(Bytes(kGiB.count() - 1)) == "1023.99 MiB");
  CHECK(to_string(kMostBytes) == "7.99 EiB");
}

TEST_CASE("a size printed as a quantity reads back as itself") {
  for (const std::uint64_t count :
       {0ULL, 1ULL, 1000ULL, 1024ULL, 1536ULL << 20U, (1ULL << 62U) + 1}) {
    CHECK(parsed(format_quantity(Bytes(count))) == count);
  }
  CHECK(format_quantity(Bytes(512 * kMiB.count())) == "512Mi");
}

TEST_CASE("sums stay at the top and differences at zero instead of wrapping") {
  CHECK(Bytes(UINT64_MAX) + Bytes(1) == Bytes(UINT64_MAX));
  CHECK(Bytes(1) - Bytes(2) == Bytes(0));
  CHECK(Bytes(5).rounded_up_to(Bytes(4)) == Bytes(8));
  CHECK(Bytes(8).rounded_up_to(Bytes(4)) == Bytes(8));
  CHECK(Bytes(8).rounded_up_to(Bytes(0)) == Bytes(8));
}

}  // namespace
}  // namespace flexlocal
