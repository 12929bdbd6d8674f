#include "flexvolume/engine/host/layout.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::engine {
namespace {

constexpr unsigned kMostStripes = 128;
constexpr std::string_view kStriped = "striped:";

Bytes rounded_down(Bytes size, Bytes unit) {
  return unit.count() == 0 ? size : Bytes(size.count() - size.count() % unit.count());
}

}  // namespace

Result<Layout> parse_layout(std::string_view text) {
  if (text == "linear") return Layout{};
  if (text == "raid1") return Layout{Layout::Kind::kRaid1};
  unsigned long long stripes = 0;
  if (text.starts_with(kStriped) &&
      parse_number(text.substr(kStriped.size()), kMostStripes, stripes) && stripes >= 2)
    return Layout{Layout::Kind::kStriped, static_cast<unsigned>(stripes)};
  return Error(ErrorCode::kInvalid, concat("layout \"", printable(text, 40),
                                           "\" is not known; accepted: linear, raid1, striped:N "
                                           "with N from 2 to ",
                                           kMostStripes));
}

std::string to_string(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::kLinear:
      return "linear";
    case Layout::Kind::kStriped:
      return concat(kStriped, layout.stripes);
    case Layout::Kind::kRaid1:
      return "raid1";
  }
  return {};
}

unsigned disks_needed(const Layout& layout) {
  return layout.kind == Layout::Kind::kRaid1 ? 2 : layout.stripes;
}

std::vector<std::string> lvcreate_arguments(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::kLinear:
      return {"--type", "linear"};
    case Layout::Kind::kStriped:
      return {"--type", "striped", "--stripes", concat(layout.stripes)};
    case Layout::Kind::kRaid1:
      return {"--type", "raid1", "--mirrors", "1"};
  }
  return {};
}

Bytes real_size(const Layout& layout, Bytes size, Bytes extent) {
  return size.rounded_up_to(
      layout.kind == Layout::Kind::kStriped ? Bytes(layout.stripes * extent.count()) : extent);
}

Bytes cost(const Layout& layout, Bytes size, Bytes extent) {
  const Bytes real = real_size(layout, size, extent);
  return layout.kind == Layout::Kind::kRaid1 ? real + extent + real + extent : real;
}

Bytes largest(const Layout& layout, std::vector<Bytes> free_of_disks, Bytes extent) {
  Bytes sum;
  for (Bytes& free : free_of_disks) sum += free = rounded_down(free, extent);
  if (layout.kind == Layout::Kind::kLinear) return sum;
  const unsigned needed = disks_needed(layout);
  if (free_of_disks.size() < needed) return Bytes(0);
  std::sort(free_of_disks.begin(), free_of_disks.end(), std::greater<>());
  const Bytes each = free_of_disks[needed - 1];
  if (layout.kind == Layout::Kind::kRaid1) return each - extent;
  return Bytes(each.count() * layout.stripes);
}

}  // namespace flexlocal::engine
