// A node's disks as plain values: what is asked of them is written down in order.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/storage.h"

namespace flexlocal::provisioner::test {

class FakeStorage final : public Storage {
 public:
  explicit FakeStorage(std::vector<std::string>& journal) : journal_(journal) {}

  // A volume group of 2 GiB that is empty.
  engine::Inventory present{
      {}, {}, {{"group:vg", kGiB + kGiB, kGiB + kGiB, Bytes(4 * kMiB.count()), {}}}, {}};
  std::deque<engine::Removal> slices;  // what the next removals come to, before one that is done
  std::set<std::string> promised;      // and not withdrawn
  Status promise_status;
  Status inventory_status;
  Status remove_status;
  Status settle_status;
  Status limits_status;
  int looks = 0;
  int limit_refreshes = 0;

  Bytes& free() { return present.spaces.front().free; }

  Task<Result<engine::Inventory>> inventory() override {
    ++looks;
    if (!inventory_status) co_return inventory_status.error();
    co_return present;
  }
  Task<Status> promise(const engine::VolumeSpec& spec) override {
    if (promise_status) promised.insert(spec.name.text());
    co_return promise_status;
  }
  Task<Status> withdraw(const engine::VolumeSpec& spec) override {
    promised.erase(spec.name.text());
    co_return Status();
  }
  Task<Result<engine::Removal>> remove(const engine::VolumeSpec& spec) override {
    journal_.push_back(concat("remove ", spec.name.text()));
    if (!remove_status) co_return remove_status.error();
    engine::Removal removal;
    if (!slices.empty()) {
      removal = slices.front();
      slices.pop_front();
    }
    co_return removal;
  }
  Task<Status> settle(const engine::Inventory&) override {
    journal_.push_back("settle");
    co_return settle_status;
  }
  Task<Status> refresh_io_limits() override {
    ++limit_refreshes;
    co_return limits_status;
  }

 private:
  std::vector<std::string>& journal_;
};

}  // namespace flexlocal::provisioner::test
