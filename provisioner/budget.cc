#include "provisioner/budget.h"

#include <algorithm>
#include <map>
#include <set>

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

std::set<std::string> spaces_of(const std::string& name, const engine::NodeConfig& config) {
  std::set<std::string> spaces;
  const auto pool = config.pools.find(name);
  if (pool == config.pools.end()) return spaces;
  for (const auto backend :
       {engine::Backend::kLvm, engine::Backend::kThin, engine::Backend::kQuota})
    spaces.insert(engine::space_id(backend, name, pool->second));
  spaces.erase(std::string());
  return spaces;
}

const Promise* find(const Promised& promised, std::string_view name) {
  const auto& all = promised.by_name;
  const auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const Promise* known, std::string_view wanted) { return known->name < wanted; });
  if (at != all.end() && (*at)->name == name) return *at;
  const auto more =
      std::find_if(promised.more.begin(), promised.more.end(),
                   [&](const Promise* const promise) { return promise->name == name; });
  return more == promised.more.end() ? nullptr : *more;
}

void raise(std::map<std::string_view, Bytes>& sizes, std::string_view name, Bytes size) {
  Bytes& known = sizes[name];
  known = std::max(known, size);
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

Bytes disk_for(Bytes memory, Ratio ratio) {
  const Wide all = static_cast<Wide>(memory.count()) * ratio.millionths();
  const Wide disk = (all + (Ratio::kOne - 1)) / Ratio::kOne;
  return disk > kMostBytes.count() ? kMostBytes : Bytes(static_cast<std::uint64_t>(disk));
}

Bytes given_in(const std::string& pool, const engine::NodeConfig& config,
               const engine::Inventory& inventory, const Promised& promised,
               const std::string& except) {
  std::map<std::string_view, Bytes> others;  // than those that are known by name, or more of them
  for (const Promise* const promise : promised.more)
    if (promise->pool == pool) raise(others, promise->name, promise->size);
  const std::set<std::string> spaces = spaces_of(pool, config);
  for (const engine::Holding& holding : inventory.holdings) {
    if (!spaces.contains(holding.space)) continue;
    // Pools may share a space.
    const Promise* const known = find(promised, holding.volume);
    if (known == nullptr || known->pool == pool) raise(others, holding.volume, holding.size);
  }
  Bytes sum;
  for (const Promise* const promise : promised.by_name) {
    if (promise->pool != pool || promise->name == except) continue;
    sum += promise->size;
    if (const auto larger = others.find(promise->name); larger != others.end()) {
      sum += larger->second - promise->size;
      others.erase(larger);
    }
  }
  for (const auto& [name, size] : others)
    if (name != except) sum += size;
  return sum;
}

Status check_budget(const Allowance& allowance, const std::string& pool, Bytes size) {
  const NodeBudget& budget = allowance.budget;
  const auto limit = budget.limit(allowance.of_class);
  if (!limit) return {};
  if (!budget.memory)
    return Error(ErrorCode::kNoSpace,
                 "there is no RAM budget, for the Node object has no status.capacity.memory");
  const Bytes left = *limit - allowance.given;
  if (size <= left) return {};
  return Error(ErrorCode::kNoSpace,
               concat("pool \"", pool, "\" has ", to_string(left), " left of its RAM budget of ",
                      to_string(*limit), " (", to_string(*budget.memory), " of RAM x ",
                      to_string(budget.ram_fraction), " x ",
                      to_string(allowance.of_class.value_or(budget.disk_per_ram)), "), ",
                      to_string(size), " asked"));
}

}  // namespace flexlocal::provisioner
