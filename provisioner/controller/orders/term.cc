#include "provisioner/controller/orders/term.h"

#include <algorithm>
#include <random>

#include "flexvolume/base/text.h"
#include "provisioner/controller/view/roll_caller.h"
#include "provisioner/objects/paths.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::int64_t kTermStride = 4096;
constexpr std::int64_t kMostLeadersLost = kTermStride << 18U;

// Of orders, of which `ordered` is the highest, and of what hosts have followed, which may be more
// than etcd knows since it was put back: but not by more than there may have been leaders in that
// time. A node that lies about it must not stop all those after us.
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

// Above that one, by a distance that is drawn: hosts that followed a leader which the API server
// has forgotten, since it was put back, followed another term than the next one's.
std::int64_t draw_term_above(std::int64_t highest) {
  std::random_device random;
  return highest + 1 + std::uniform_int_distribution<std::int64_t>(0, kTermStride - 1)(random);
}

}  // namespace

// Terms only rise: a host that followed a later one than ours would do nothing that we order.
Task<Status> Term::begin(const std::function<bool()>& has_synced) {
  LastingTrouble trouble;
  for (;;) {
    const Status learnt = co_await learn_cluster();
    trouble.look(learnt, log_, "no orders are given yet");
    if (learnt && has_synced()) break;
    auto slept = co_await kube::sleep_for(std::chrono::milliseconds(100));
    if (!slept) co_return slept;
  }
  begin_above_known();
  begun_ = true;
  co_return Status();
}

void Term::begin_above_known() {
  const std::int64_t term = draw_term_above(highest_known());
  desk_.begin_term(term);
  roll_.begin(term);
  log_.info("orders are given", {{"term", concat(term)}});
}

std::int64_t Term::highest_known() const {
  return highest_term(view_.nodes, log_, view_.copies.highest_term());
}

Task<Status> Term::learn_cluster() {
  if (!desk_.cluster_id().empty()) co_return Status();
  const std::string path = namespace_path("kube-system");
  const auto system = co_await api_.get(path);
  if (!system) co_return system.error().context("reading namespace kube-system");
  desk_.set_cluster_id(uid_of(system->root()));
  co_return Status();
}

void Term::heard(const NodeHeartbeat& beat) {
  if (!begun_ || is_excused(view_.nodes, beat.node)) return;
  // A host that was silent has followed a later leader than the API server knew of.
  if (beat.report.roll && beat.report.roll->term > desk_.term() && highest_known() > desk_.term())
    begin_above_known();
  else
    roll_.heard(beat);
}

}  // namespace flexlocal::provisioner
