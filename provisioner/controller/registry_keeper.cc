#include "provisioner/controller/registry_keeper.h"

#include <utility>

#include "flexvolume/base/text.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

kube::ResourceKind driver_kind() {
  return {"csidrivers", drivers_path(), {}, concat("metadata.name=", engine::kProvisioner), {}};
}

kube::ResourceKind capacities_kind(const CapacityPlace& place) {
  return {std::string(kCapacities), capacity_path(place, ""), std::string(kNodeLabel), {}, {}};
}

}  // namespace

// What is followed in one place.
struct RegistryKeeper::Watched {
  Watched(ClusterParts& parts, const CapacityPlace& place)
      : has_driver(parts.options.register_driver),
        driver(parts.api, parts.log, driver_kind(), decode_driver),
        capacities(parts.api, parts.log, capacities_kind(place), decode_capacity) {}

  bool has_synced() const {
    return capacities.has_synced() && (!has_driver || driver.has_synced());
  }
  double failures() const { return capacities.stats().list_failures.value(); }

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
  auto version = co_await find_capacity_version(parts_.api);
  if (!version) co_return version.error();
  if (version->empty() && !told_of_none_) {
    parts_.log.info("this API server has no CSIStorageCapacity: no CSIDriver is made");
    told_of_none_ = true;
  }
  place_.version = std::move(*version);
  place_.namespace_name = parts_.options.namespace_name;
  co_return Status();
}

// Until the objects are found in another version. False: its task was told to stop.
Task<bool> RegistryKeeper::follow() {
  const CapacityPlace place = place_;
  Watched watched(parts_, place);
  kube::TaskGroup readers(io_);
  if (watched.has_driver) readers.spawn(watched.driver.run());
  readers.spawn(watched.capacities.run());
  Registry registry(parts_, teller_, place, watched.driver, watched.capacities);
  double failures = 0;
  Status rested;
  while (rested && place_.version == place.version) {
    Status looked = co_await look(registry, watched);
    // Perhaps the API server has another version of them since it was made anew.
    if (std::exchange(failures, watched.failures()) != failures) looked = co_await find_place();
    rested = co_await rest(looked);
  }
  const bool ended = co_await readers.end();  // what they refer to must outlive them
  const bool goes_on = rested && ended;
  co_return goes_on;
}

Task<Status> RegistryKeeper::look(Registry& registry, const Watched& watched) {
  if (!watched.has_synced()) co_return kube::cancelled_error();
  auto looked = co_await registry.look();
  co_return looked;
}

// What failed is tried again soon, and what is not known yet is waited for.
Task<Status> RegistryKeeper::rest(const Status& looked) {
  trouble_.look(looked, parts_.log, "the CSIDriver and CSIStorageCapacities are not looked after");
  const auto pause = looked ? parts_.options.registry_interval : std::chrono::seconds(1);
  auto rested = co_await kube::sleep_for(pause);
  co_return rested;
}

}  // namespace flexlocal::provisioner
