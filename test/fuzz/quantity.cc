// resource.Quantity as bytes: from StorageClasses, claims and node.conf.
#include <cmath>

#include "flexvolume/base/bytes.h"
#include "test/fuzz/property.h"

namespace flexlocal::fuzz {
namespace {

// The same amount by other means: strtold for the number, a power for the unit. Exact to about 18
// digits, which is enough to tell a wrong unit, a lost digit or an overflow.
long double amount_of(const std::string& text) {
  char* end = nullptr;
  const std::size_t digits = text.find_first_not_of("+0123456789.");
  const long double number = std::strtold(text.substr(0, digits).c_str(), &end);
  if (digits == std::string::npos) return number;
  const std::string suffix = text.substr(digits);
  const std::string decimal = "num kMGTPE";  // from 10^-9 on, in steps of 10^3
  if (suffix.size() == 1)
    return number * powl(10, 3 * (static_cast<long double>(decimal.find(suffix)) - 3));
  if (suffix.back() == 'i')
    return number * powl(1024, 1 + static_cast<long double>(std::string("KMGTPE").find(suffix[0])));
  return number * powl(10, std::strtold(suffix.substr(1).c_str(), &end));
}

void check_taken(const std::string& text, Bytes size) {
  require(size <= kMostBytes, "what is taken fits 63 bits");
  const long double amount = amount_of(text);
  const auto count = static_cast<long double>(size.count());
  require(count >= amount * (1 - 1e-15L), "nothing is rounded down");
  require(count <= (amount + 1) * (1 + 1e-15L), "less than one byte is added");
  if (text[0] != '+' && text.size() < 60) {
    const auto signed_one = parse_quantity("+0" + text);
    require(signed_one.ok() && *signed_one == size, "a plus sign and a zero change nothing");
  }
}

void check_format(Bytes size) {
  const auto back = parse_quantity(format_quantity(size));
  require(back.ok() && *back == size, "a size that is written reads back as itself");
  require(to_string(size).size() <= 12, "a size for people is short");
}

}  // namespace
}  // namespace flexlocal::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace flexlocal;  // NOLINT: the one function outside the namespace
  const std::string text(fuzz::as_text(data, size));
  if (const auto parsed = parse_quantity(text)) {
    fuzz::check_taken(text, *parsed);
    fuzz::check_format(*parsed);
  }
  // The same bytes as a number, so that writing sees numbers that no text led to.
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < size && i < sizeof count; ++i) count = count << 8U | data[i];
  fuzz::check_format(Bytes(count & kMostBytes.count()));
  return 0;
}
