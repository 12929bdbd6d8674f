#include "flexvolume/base/bytes.h"

#include <array>
#include <optional>
#include <string_view>

#include "flexvolume/base/text.h"

namespace flexlocal {
namespace {

constexpr std::array<std::string_view, 7> kBinaryUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

__extension__ using Wide = unsigned __int128;
constexpr Wide kOverflow = static_cast<Wide>(kMostBytes.count()) + 1;

// What follows the digits: mantissa x base^exponent.
struct Scale {
  int base = 10;
  int exponent = 0;
};

std::optional<int> decimal_exponent(std::string_view suffix) {
  constexpr std::string_view kUp = "kMGTPE";
  if (suffix.empty()) return 0;
  if (suffix == "n") return -9;
  if (suffix == "u") return -6;
  if (suffix == "m") return -3;
  if (suffix.size() == 1) {
    const std::size_t at = kUp.find(suffix[0]);
    if (at != std::string_view::npos) return 3 * (static_cast<int>(at) + 1);
  }
  return std::nullopt;
}

std::optional<Scale> parse_scale(std::string_view suffix) {
  if (const auto exponent = decimal_exponent(suffix)) return Scale{10, *exponent};
  for (std::size_t i = 1; i < kBinaryUnits.size(); ++i)
    if (suffix == kBinaryUnits[i]) return Scale{2, static_cast<int>(10 * i)};
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  std::string_view digits = suffix.substr(1);
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.remove_prefix(1);
  unsigned long long exponent = 0;
  if (!parse_number(digits, 1000, exponent)) return std::nullopt;
  return Scale{10, negative ? -static_cast<int>(exponent) : static_cast<int>(exponent)};
}

// Zeros that change no number, so that the limit of digits counts only those that do.
std::string_view without_leading_zeros(std::string_view digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
}
std::string_view without_trailing_zeros(std::string_view digits) {
  return digits.substr(0, digits.find_last_not_of('0') + 1);
}

// value x base^exponent, rounded up; kOverflow when it does not fit.
Wide scaled(Wide value, Scale scale) {
  for (; scale.exponent > 0 && value > 0; --scale.exponent) {
    value *= static_cast<unsigned>(scale.base);
    if (value >= kOverflow) return kOverflow;
  }
  bool remainder = false;
  for (; scale.exponent < 0 && value > 0; ++scale.exponent) {
    remainder = remainder || value % static_cast<unsigned>(scale.base) != 0;
    value /= static_cast<unsigned>(scale.base);
  }
  return value + (remainder ? 1 : 0);
}

// What a quantity is written with; nothing when it is none.
struct Notation {
  std::string_view whole;     // without leading zeros
  std::string_view fraction;  // without trailing zeros
  Scale scale;
};

std::optional<Notation> parse_notation(std::string_view text) {
  const std::size_t number_end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, number_end);
  const std::size_t dot = number.find('.');
  const std::string_view decimals =
      dot == std::string_view::npos ? std::string_view() : number.substr(dot + 1);
  const auto scale = parse_scale(text.substr(number_end));
  if (!scale || number.empty() || number == "." || decimals.find('.') != std::string_view::npos)
    return std::nullopt;
  return Notation{without_leading_zeros(number.substr(0, dot)), without_trailing_zeros(decimals),
                  *scale};
}

// Nothing when it does not fit 63 bits. The number has few enough digits for 128.
std::optional<Bytes> value_of(const Notation& written) {
  Wide value = 0;
  for (const std::string_view part : {written.whole, written.fraction})
    for (const char digit : part) value = value * 10 + static_cast<unsigned>(digit - '0');
  // The fraction's digits are taken off last, in base ten, whatever the unit's base is.
  int exponent = -static_cast<int>(written.fraction.size());
  if (written.scale.base == 2) {
    if (value > (~Wide{0} >> written.scale.exponent)) return std::nullopt;
    value <<= written.scale.exponent;
  } else {
    exponent += written.scale.exponent;
  }
  value = scaled(value, {10, exponent});
  if (value >= kOverflow) return std::nullopt;
  return Bytes(static_cast<std::uint64_t>(value));
}

}  // namespace

std::string to_string(Bytes size) {
  std::size_t unit = 0;
  std::uint64_t divisor = 1;
  while (unit + 1 < kBinaryUnits.size() && size.count() / divisor >= 1024) {
    divisor *= 1024;
    ++unit;
  }
  if (unit == 0) return concat(size.count(), " B");
  const std::uint64_t whole = size.count() / divisor;
  const auto hundredths =
      static_cast<unsigned>(static_cast<Wide>(size.count() % divisor) * 100 / divisor);
  std::string out = concat(whole);
  if (hundredths != 0) {
    out += concat('.', hundredths / 10);
    if (hundredths % 10 != 0) out += concat(hundredths % 10);
  }
  return concat(out, ' ', kBinaryUnits[unit], 'B');
}

Result<Bytes> parse_quantity(std::string_view text) {
  const std::string shown = concat('"', printable(text, 40), '"');
  // Long inputs are refused before they are looked at: ours is never longer than 20 digits.
  const bool readable = !text.empty() && text.size() <= 64;
  if (readable && text[0] == '-')
    return Error(ErrorCode::kInvalid, concat(shown, " is negative; a size is not"));
  const auto written =
      readable ? parse_notation(text.substr(text[0] == '+' ? 1 : 0)) : std::nullopt;
  if (!written)
    return Error(ErrorCode::kInvalid, concat(shown, " is not a quantity such as 512Mi or 10Gi"));
  // 24 digits with a fraction of 12 leave room for the largest unit in 128 bits.
  if (written->fraction.size() > 12)
    return Error(ErrorCode::kInvalid, concat(shown, " has more than 12 decimals"));
  const auto value = written->whole.size() > 24 ? std::nullopt : value_of(*written);
  if (!value) return Error(ErrorCode::kInvalid, concat(shown, " does not fit 63 bits"));
  return *value;
}

std::string format_quantity(Bytes size) {
  std::size_t unit = 0;
  std::uint64_t count = size.count();
  while (count != 0 && unit + 1 < kBinaryUnits.size() && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return concat(count, kBinaryUnits[unit]);
}

}  // namespace flexlocal
