// A count of bytes as a type of its own, so that sizes, offsets and counts do not mix.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "flexvolume/base/result.h"

namespace flexlocal {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}

  constexpr std::uint64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;

  // Sums never wrap: they stay at the largest count. Differences never go below zero.
  constexpr Bytes operator+(Bytes other) const {
    const std::uint64_t sum = count_ + other.count_;
    return Bytes(sum < count_ ? UINT64_MAX : sum);
  }
  constexpr Bytes operator-(Bytes other) const {
    return Bytes(count_ < other.count_ ? 0 : count_ - other.count_);
  }
  constexpr Bytes& operator+=(Bytes other) { return *this = *this + other; }

  // Rounded up to a whole number of `unit`s; a zero unit leaves it as it is.
  constexpr Bytes rounded_up_to(Bytes unit) const {
    if (unit.count_ == 0 || count_ % unit.count_ == 0) return *this;
    return *this + (unit - Bytes(count_ % unit.count_));
  }

 private:
  std::uint64_t count_ = 0;
};

inline constexpr Bytes kKiB{1024};
inline constexpr Bytes kMiB{1024 * kKiB.count()};
inline constexpr Bytes kGiB{1024 * kMiB.count()};

// For people, in the largest binary unit, rounded down to two decimals: "120 MiB", "1.49 GiB".
std::string to_string(Bytes size);

// No size in this project may exceed what a signed 64-bit count holds (as in Kubernetes).
inline constexpr Bytes kMostBytes{INT64_MAX};

// A resource.Quantity as bytes: "512Mi", "1e3", "1.5G", "100m" (rounded up to a whole byte, as
// Kubernetes does). Fails with kInvalid on anything that apimachinery's ParseQuantity refuses,
// on negative amounts, on more than 64 characters or 12 decimals and on what does not fit 63 bits.
// Source: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go
Result<Bytes> parse_quantity(std::string_view text);

// The canonical binary form that the API server would print: "512Mi", "1000" (BinarySI).
std::string format_quantity(Bytes size);

}  // namespace flexlocal
