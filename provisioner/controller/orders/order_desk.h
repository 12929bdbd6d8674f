// Where orders are given: writes VolumeCopies, for the workers that decided on them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "flexvolume/base/log.h"
#include "provisioner/controller/orders/orders_under_way.h"
#include "provisioner/kube/api.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/objects.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

using kube::Task;

class OrderDesk {
 public:
  // `under_way`: has each new order until it is answered.
  OrderDesk(kube::ApiClient& api, kube::Informer<VolumeCopy>& copies, OrdersUnderWay& under_way,
            Log& log)
      : api_(api), copies_(copies), under_way_(under_way), log_(log) {}

  // Each order bears the leader's term: above that of every order and record there is.
  void begin_term(std::int64_t term) {
    term_ = term;
    cut_.clear();
    keeps_orders_ = false;
  }
  std::int64_t term() const { return term_; }
  // Whose orders they are: the uid of the namespace kube-system. Empty: not known yet.
  void set_cluster_id(std::string id) { cluster_id_ = std::move(id); }
  const std::string& cluster_id() const { return cluster_id_; }

  // A copy that nobody ordered before; `holds`: see kHoldsAnnotation. kInvalid when the API server
  // does not keep all of such an order: nothing is then ordered, by a dry run before.
  Task<Status> give(const CopyOrder& ordered, const std::string& holds);
  Task<Status> give(const CopyOrder& ordered) { return give(ordered, no_claim_); }
  // What is desired of it from now on, or how large it is to be; its term as well. kConflict when
  // it has changed since.
  Task<Status> change(const VolumeCopy& copy, const CopyOrder& ordered);
  // The same, of `desired` alone.
  Task<Status> order(const VolumeCopy& copy, DesiredState desired);
  // The same, that it be withdrawn: of a claim that gets another copy, and of one that is gone.
  Task<Status> withdraw(const VolumeCopy& copy, const Claim& claim, const std::string& why);
  Task<Status> withdraw_unclaimed(const VolumeCopy& copy);
  // That it be withdrawn, and is never to serve again: see kGivenUpAnnotation. kConflict as above.
  Task<Status> give_up(const VolumeCopy& copy);
  // What the API server did not keep of an order of this term, in words: its definition has changed
  // since the dry run. Such a copy is never to serve. Empty: it kept all.
  std::string cut_of(const std::string& copy) const;
  // The object, of which nothing is left on its node. What is gone is done.
  Task<Status> remove(const VolumeCopy& copy);

 private:
  Task<Status> try_and_create(const CopyOrder& order, const std::string& holds);
  Task<Status> try_order(const CopyOrder& order, const std::string& holds);
  Task<Status> send(const VolumeCopy& copy, const CopyOrder& order, std::string_view mark);
  Status store(const std::string& sent, JsonView kept);

  kube::ApiClient& api_;
  kube::Informer<VolumeCopy>& copies_;
  OrdersUnderWay& under_way_;
  Log& log_;
  std::int64_t term_ = 0;
  std::string cluster_id_;
  std::map<std::string, std::string> cut_;  // see cut_of()
  bool keeps_orders_ = false;               // the API server all of a new copy's
  const std::string no_claim_;              // lives as long as the task that is given it
};

// 16 hexadecimal digits, drawn: never used again.
Result<std::string> draw_copy_id();

}  // namespace flexlocal::provisioner
