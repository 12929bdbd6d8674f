#include "provisioner/controller/publish/registry_keeper.h"

#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

kube::ResourceKind driver_kind() {
  return {"csidrivers", drivers_path(), {}, by_name(engine::kProvisioner), {}};
}

kube::ResourceKind capacities_kind(const CapacityPlace& place) {
  return {std::string(kCapacities), capacity_path(place, ""), std::string(kNodeLabel), {}, {}};
}

// A list that is on its way is waited for without a word.
template <typename T>
Status is_known(const kube::Informer<T>& informer) {
  if (informer.has_synced()) return {};
  if (informer.stats().list_failures.value() == 0) return kube::cancelled_error();
  return Error(ErrorCode::kUnavailable,
               concat("the list of ", informer.kind(), " cannot be read; the log says why"));
}

}  // namespace

// What is followed in one place.
struct RegistryKeeper::Watched {
  Watched(const RegistryKeeper& keeper, const CapacityPlace& where)
      : place(where),
        has_driver(keeper.options_.register_driver),
        driver(keeper.api_, keeper.log_, driver_kind(), decode_driver),
        capacities(keeper.api_, keeper.log_, capacities_kind(place), decode_capacity) {}

  double failures() const { return capacities.stats().list_failures.value(); }

  CapacityPlace place;
  bool has_driver;  // or it is left to the administrator
  kube::Informer<RegisteredDriver> driver;
  kube::Informer<PublishedCapacity> capacities;
};

Task<void> RegistryKeeper::run() {
  Status rested;
  while (rested) {
    Status found = kube::cancelled_error();
    if (synced_()) found = co_await find_place();
    const bool has_place = found && !place_.version.empty();
    if (!has_place)
      rested = co_await rest(found);
    else if (const bool goes_on = co_await follow(); !goes_on)
      co_return;
  }
}

Task<Status> RegistryKeeper::find_place() {
  auto version = co_await find_capacity_version(api_);
  if (!version) co_return version.error();
  if (version->empty() && !reported_none_) {
    log_.info("this API server has no CSIStorageCapacity: no CSIDriver is made");
    reported_none_ = true;
  }
  place_.version = std::move(*version);
  place_.namespace_name = options_.namespace_name;
  co_return Status();
}

// Until the objects are found in another version. False: its task was told to stop.
Task<bool> RegistryKeeper::follow() {
  Watched watched(*this, place_);
  registrar_.forget_reported();
  kube::TaskGroup readers(io_);
  if (watched.has_driver) readers.spawn(watched.driver.run());
  readers.spawn(watched.capacities.run());
  double failures = 0;
  Status rested;
  while (rested && place_.version == watched.place.version) {
    Status looked = co_await reconcile(watched);
    // Perhaps the API server has another version of them since it was made anew.
    if (std::exchange(failures, watched.failures()) != failures) {
      const Status found = co_await find_place();
      if (looked) looked = found;
    }
    rested = co_await rest(looked);
  }
  const bool ended = co_await readers.end();  // what they refer to must outlive them
  const bool goes_on = rested && ended;
  co_return goes_on;
}

// What one of them lacks does not hold up the other.
Task<Status> RegistryKeeper::reconcile(Watched& watched) {
  Status driver;
  if (watched.has_driver) driver = is_known(watched.driver);
  if (watched.has_driver && driver) driver = co_await registrar_.reconcile(watched.driver);
  Status capacities = is_known(watched.capacities);
  if (capacities) capacities = co_await sweeper_.sweep(watched.place, watched.capacities);
  if (!driver) co_return driver.error().context("the CSIDriver");
  if (!capacities) co_return capacities.error().context("CSIStorageCapacities that nobody keeps");
  co_return Status();
}

// What failed is tried again soon, and what is not known yet is waited for.
Task<Status> RegistryKeeper::rest(const Status& looked) {
  trouble_.look(looked, log_, "the CSIDriver and CSIStorageCapacities are not looked after");
  const auto pause = looked ? options_.interval : std::chrono::seconds(1);
  auto rested = co_await kube::sleep_for(pause);
  co_return rested;
}

}  // namespace flexlocal::provisioner
