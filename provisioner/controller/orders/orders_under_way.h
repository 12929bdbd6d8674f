// New orders that the API server is just being given: other claims are looked at meanwhile, and are
// not to be given the same room.
#pragma once

#include <list>

#include "provisioner/objects/copy_order.h"

namespace flexlocal::provisioner {

class OrdersUnderWay {
 public:
  using Entry = std::list<CopyOrder>::const_iterator;

  Entry add(const CopyOrder& order) { return orders_.insert(orders_.end(), order); }
  // It was answered, or failed.
  void remove(Entry entry) { orders_.erase(entry); }
  const std::list<CopyOrder>& all() const { return orders_; }

 private:
  std::list<CopyOrder> orders_;
};

}  // namespace flexlocal::provisioner
