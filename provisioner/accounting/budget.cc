#include "provisioner/accounting/budget.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::size_t kPlaces = 6;

__extension__ using Wide = unsigned __int128;

Error not_a_ratio(std::string_view text) {
  return Error(ErrorCode::kInvalid,
               concat("\"", printable(text, 40), "\" is not a number from 0 to ", Ratio::kMost,
                      " with at most ", kPlaces, " decimals, such as 32 or 0.85"));
}

}  // namespace

Result<Ratio> parse_ratio(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  unsigned long long whole = 0;
  if (!parse_number(text.substr(0, point), Ratio::kMost, whole)) return not_a_ratio(text);
  unsigned long long rest = 0;
  if (point != text.size()) {
    std::string places(text.substr(point + 1));
    if (places.empty() || places.size() > kPlaces) return not_a_ratio(text);
    places.resize(kPlaces, '0');
    if (!parse_number(places, Ratio::kOne - 1, rest)) return not_a_ratio(text);
  }
  const Ratio ratio = Ratio::of_millionths(whole * Ratio::kOne + rest);
  if (ratio > Ratio::of_millionths(Ratio::kMost * Ratio::kOne)) return not_a_ratio(text);
  return ratio;
}

std::string to_string(Ratio ratio) {
  std::string whole = concat(ratio.millionths() / Ratio::kOne);
  std::string places = concat(ratio.millionths() % Ratio::kOne);
  if (places == "0") return whole;
  places.insert(0, kPlaces - places.size(), '0');
  places.erase(places.find_last_not_of('0') + 1);
  return concat(whole, '.', places);
}

// At most 2^63 x 10^6 x 10^12 before it is divided: 128 bits hold that.
std::optional<Bytes> NodeBudget::limit(const std::optional<Ratio>& of_class) const {
  const Ratio ratio = of_class.value_or(disk_per_ram);
  if (ratio == Ratio()) return std::nullopt;
  const Wide counted =
      static_cast<Wide>(memory.value_or(Bytes(0)).count()) * ram_fraction.millionths();
  const Wide all = counted * ratio.millionths() / Ratio::kOne / Ratio::kOne;
  return all > kMostBytes.count() ? kMostBytes : Bytes(static_cast<std::uint64_t>(all));
}

Bytes NodeBudget::left(const std::optional<Ratio>& of_class, Bytes given) const {
  const auto all = limit(of_class);
  return all ? *all - given : kMostBytes;
}

Bytes disk_for(Bytes memory, Ratio ratio) {
  const Wide all = static_cast<Wide>(memory.count()) * ratio.millionths();
  const Wide disk = (all + (Ratio::kOne - 1)) / Ratio::kOne;
  return disk > kMostBytes.count() ? kMostBytes : Bytes(static_cast<std::uint64_t>(disk));
}

Status check_budget(const Allowance& allowance, const std::string& pool, Bytes size) {
  const NodeBudget& budget = allowance.budget;
  const auto limit = budget.limit(allowance.of_class);
  if (!limit) return {};
  if (!budget.memory)
    return Error(ErrorCode::kNoSpace,
                 "there is no RAM budget, for the Node object has no status.capacity.memory");
  const Bytes left = budget.left(allowance.of_class, allowance.given);
  if (size <= left) return {};
  return Error(ErrorCode::kNoSpace,
               concat("pool \"", pool, "\" has ", to_string(left), " left of its RAM budget of ",
                      to_string(*limit), " (", to_string(*budget.memory), " of RAM x ",
                      to_string(budget.ram_fraction), " x ",
                      to_string(allowance.of_class.value_or(budget.disk_per_ram)), "), ",
                      to_string(size), " asked"));
}

}  // namespace flexlocal::provisioner
