#include "provisioner/controller/orders/replacement_orderer.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/claims/serving_copy.h"

namespace flexlocal::provisioner {
namespace {

// Of what waits for nodes, or for a person.
constexpr auto kRequeueAfter = std::chrono::seconds(10);
constexpr auto kSoon = std::chrono::seconds(1);

}  // namespace

Task<Status> ReplacementOrderer::give_up(const Claim& claim, const VolumeCopy& copy,
                                         const std::string& why) {
  auto given_up = co_await desk_.give_up(copy);
  if (!given_up) co_return given_up;
  chooser_.refused(claim, copy.order->node);
  report_.report_given_up(claim, copy, why);
  co_return Status();
}

Task<Requeue> ReplacementOrderer::order(const Claim& claim, const VolumeCopy& given_up) {
  auto confirmed = co_await roll_.confirm();
  if (!confirmed) co_return confirmed.error();
  if (!roll_.is_over()) co_return kSoon;
  if (const auto found = view_.unordered().of_claim(claim)) {
    report_.report(claim, "VolumeRetained",
                   concat("node ", found->node.name,
                          " has a volume of this claim that no VolumeCopy names: "
                          "none is made beside it"));
    co_return kRequeueAfter;
  }
  const CopyOrder& before = *given_up.order;
  const WantedVolume wanted{promise_of(before.volume), before.disk_per_ram};
  const std::string name = chooser_.choose(claim, before.volume.name.text(), wanted);
  const Node* const node = name.empty() ? nullptr : view_.nodes.get(name);
  if (node == nullptr) {
    report_.report_search(
        claim, concat("node ", before.node, " could not make volume ", before.volume.name.text(),
                      ", and no other node has room for it now; it is looked for one"));
    co_return kRequeueAfter;
  }
  auto ordered = co_await order_of_node(claim, before, *node);
  co_return ordered;
}

Task<Requeue> ReplacementOrderer::order_of_node(const Claim& claim, const CopyOrder& given_up,
                                                const Node& node) {
  auto order = drafter_.draft_in_place_of(given_up, claim, node);
  if (!order) co_return order.error();
  auto given = co_await desk_.give(*order);
  if (!given && given.error().code() == ErrorCode::kInvalid)
    report_.report_search(claim, given.error().message());
  if (!given) co_return given.error();
  report_.report_ordered(claim, *order);
  co_return std::chrono::nanoseconds(kOrderTimeout);
}

Task<Status> ReplacementOrderer::withdraw(const Claim& claim, const VolumeCopy& copy,
                                          const std::string& why) {
  const std::string node = copy.order->node;
  auto withdrawn = co_await desk_.withdraw(copy, claim, why);
  if (!withdrawn) co_return withdrawn;
  chooser_.refused(claim, node);
  if (!why.empty()) report_.report_search(claim, concat(why, "; another node is looked for"));
  co_return Status();
}

}  // namespace flexlocal::provisioner
