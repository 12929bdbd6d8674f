#include "provisioner/controller/orders/order_desk.h"

#include <algorithm>

#include "test/unit/controller/orders/order_lab.h"

namespace flexlocal::provisioner::test {
namespace {

struct Fixture : OrderLab {
  std::size_t most_under_way = 0;  // at any request
  bool fails = false;

  Fixture() {
    http.answer = [this](const kube::HttpRequest& request) -> Result<kube::HttpResponse> {
      most_under_way = std::max(most_under_way, under_way.all().size());
      if (fails) return Error(ErrorCode::kDenied, "no");
      return server.answer(request);
    };
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a new order is under way until it is answered") {
  CHECK(wait_for(desk.give(sample_order())).ok());
  CHECK(most_under_way == 1);
  CHECK(under_way.all().empty());
}

TEST_CASE_FIXTURE(Fixture, "a new order that failed is under way no more") {
  fails = true;
  CHECK_FALSE(wait_for(desk.give(sample_order())).ok());
  CHECK(most_under_way == 1);
  CHECK(under_way.all().empty());
}

TEST_CASE_FIXTURE(Fixture, "an order of what a node has already takes no room beside that") {
  CopyOrder order = sample_order();
  order.origin = Origin::kExisting;
  CHECK(wait_for(desk.give(order)).ok());
  CHECK(most_under_way == 0);
}

}  // namespace flexlocal::provisioner::test
