// How much disk a node gives away in proportion to its memory: exact, and nothing else in this
// file. A node is then full of pods before it is full of volumes.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flexvolume/base/bytes.h"
#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

// A decimal number with up to six places, exactly: "0.85", "32".
class Ratio {
 public:
  static constexpr std::uint64_t kOne = 1'000'000;
  static constexpr std::uint64_t kMost = 1'000'000;

  constexpr Ratio() = default;
  static constexpr Ratio of_millionths(std::uint64_t count) { return Ratio(count); }

  constexpr std::uint64_t millionths() const { return millionths_; }
  constexpr auto operator<=>(const Ratio&) const = default;

 private:
  constexpr explicit Ratio(std::uint64_t millionths) : millionths_(millionths) {}

  std::uint64_t millionths_ = 0;
};

// Digits, and perhaps a point and one to six more: nothing else, and no more than Ratio::kMost;
// else kInvalid.
Result<Ratio> parse_ratio(std::string_view text);
// As short as it can be: what parse_ratio() reads as the same.
std::string to_string(Ratio ratio);

// What a node's volumes are in proportion to.
struct NodeBudget {
  std::optional<Bytes> memory{};  // the node's, by its Node object; nullopt: that does not say
  Ratio ram_fraction = Ratio::of_millionths(850'000);     // of it that counts, at most 1
  Ratio disk_per_ram = Ratio::of_millionths(32'000'000);  // where a class says nothing

  // What the volumes of one pool may have in all, whatever its disks hold: memory x ram_fraction x
  // disk_per_ram, rounded down. nullopt: no limit, for the ratio is 0. Of a memory that is not
  // known nothing.
  std::optional<Bytes> limit(const std::optional<Ratio>& of_class) const;

  // What of that is left beside what the pool's volumes have; kMostBytes where there is no limit.
  Bytes left(const std::optional<Ratio>& of_class, Bytes given) const;
};

// How much disk goes with so much memory, rounded up; kMostBytes at most.
Bytes disk_for(Bytes memory, Ratio ratio);

// What a volume of a pool is held against.
struct Allowance {
  const NodeBudget& budget;
  std::optional<Ratio> of_class;
  Bytes given;  // what the others of the pool have, as Accounts::given() says
};

// Whether a volume of `size` may be beside them. kNoSpace, with figures, when not.
Status check_budget(const Allowance& allowance, const std::string& pool, Bytes size);

}  // namespace flexlocal::provisioner
