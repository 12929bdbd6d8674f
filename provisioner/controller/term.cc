#include "provisioner/controller/term.h"

#include <algorithm>
#include <random>

#include "flexvolume/base/text.h"
#include "provisioner/controller/roll_caller.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::int64_t kTermStride = 4096;
constexpr std::int64_t kMostLeadersLost = kTermStride << 18U;

}  // namespace

std::int64_t highest_term(const NodeCache& nodes, Log& log, std::int64_t ordered) {
  const std::int64_t known = std::min(ordered, kMostTerm);
  std::int64_t highest = known;
  nodes.beats().for_each([&](const std::string&, const NodeHeartbeat& beat) {
    if (!beat.report.roll || is_excused(nodes, beat.node)) return;
    if (beat.report.roll->term <= known + kMostLeadersLost)
      highest = std::max(highest, beat.report.roll->term);
    else
      log.warning("a node says that it followed the order of a leader that there cannot have been",
                  {{"node", beat.node}, {"term", concat(beat.report.roll->term)}});
  });
  return highest;
}

std::int64_t draw_term_above(std::int64_t highest) {
  std::random_device random;
  return highest + 1 + std::uniform_int_distribution<std::int64_t>(0, kTermStride - 1)(random);
}

}  // namespace flexlocal::provisioner
