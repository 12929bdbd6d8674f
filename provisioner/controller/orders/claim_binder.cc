#include "provisioner/controller/orders/claim_binder.h"

namespace flexlocal::provisioner {

Task<Requeue> ClaimBinder::bind(const Claim& claim, const VolumeCopy& copy) {
  Status done;
  const std::string cut = desk_.cut_of(copy.name);
  if (!cut.empty()) {
    done = co_await withdraw(claim, copy, cut);
  } else {
    if (const auto after = prior_.check_beside(claim, copy)) co_return after;
    done = co_await binder_.bind(claim, copy);
  }
  if (!done) co_return done.error();
  co_return std::nullopt;
}

Task<Status> ClaimBinder::withdraw(const Claim& claim, const VolumeCopy& copy,
                                   const std::string& why) {
  if (copy.status.promised) {
    const auto has_volume = co_await binder_.has_volume(copy);
    if (!has_volume) co_return has_volume.error();
    if (*has_volume) co_return Status();
  }
  const std::string node = copy.order->node;
  auto withdrawn = co_await desk_.withdraw(copy, claim, why);
  if (!withdrawn || why.empty()) co_return withdrawn;
  auto refused = co_await assigner_.refuse(claim, node, why);
  co_return refused;
}

}  // namespace flexlocal::provisioner
