#include "provisioner/agent/capacity_publisher.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// Between two looks at the disks for this alone: a look starts programs.
constexpr auto kBetweenDiskLooks = std::chrono::seconds(2);
constexpr kube::BackoffOptions kRetry{std::chrono::milliseconds(500), std::chrono::seconds(30)};

}  // namespace

Task<void> CapacityPublisher::run() {
  if (!options_.enabled) co_return;
  const auto claims = co_await parts_.claims.wait_synced();
  const auto volumes = co_await parts_.volumes.wait_synced();
  if (!claims || !volumes) co_return;
  unsigned failures = 0;
  for (;;) {
    const Status looked = co_await look();
    trouble_.look(looked, parts_.log, "the scheduler cannot be told of this node's room");
    failures = looked ? 0 : failures + 1;
    const bool has_place = place_ && !place_->version.empty();
    const auto pause = !looked      ? kube::backoff_delay(kRetry, failures - 1)
                       : !has_place ? options_.poll_interval
                                    : options_.look_interval;
    const auto until = std::chrono::steady_clock::now() + pause;
    const Status waited = co_await touched_.wait(until);
    if (!waited) co_return;
  }
}

// One class after the other: each is as it is in the moment in which it is told. The names are
// taken first, for the store may change while the API server is waited for.
Task<Status> CapacityPublisher::look() {
  const Status placed = co_await find_place();
  if (!placed || place_->version.empty()) co_return placed;
  if (usable_().value_or(false)) {
    const Status known = co_await know_disks();
    if (!known) co_return known;
  }
  forget_gone_classes();
  std::vector<std::string> names;
  parts_.classes.for_each(
      [&](const std::string& name, const StorageClass&) { names.push_back(name); });
  Status outcome;
  for (const std::string& name : names) {
    if (!place_) break;
    const auto size = room_of(name);
    if (!size || !is_due(name, *size)) continue;
    const StorageClass storage_class = *parts_.classes.get(name);  // else its room is not known
    const Status done = co_await tell(storage_class, *size);
    if (!done && outcome) outcome = done;
  }
  co_return outcome;
}

// Once; an API server that has no such objects is asked again, for it may be a newer one then.
Task<Status> CapacityPublisher::find_place() {
  if (place_ && !place_->version.empty()) co_return Status();
  const auto version = co_await find_capacity_version(parts_.api);
  if (!version) co_return version.error();
  if (version->empty()) {
    if (!place_)
      parts_.log.info(
          "this API server has no CSIStorageCapacity: the scheduler does not know where there is "
          "room, and claims are handed back to it");
    place_ = CapacityPlace{};
    co_return Status();
  }
  auto owner = co_await find_owner();
  if (!owner) co_return owner.error();
  place_ = CapacityPlace{*version, options_.namespace_name, std::move(*owner)};
  co_return Status();
}

// A daemon that is not run by a DaemonSet has objects without an owner.
Task<Result<CapacityOwner>> CapacityPublisher::find_owner() {
  const std::string path = daemon_set_path(options_.namespace_name, options_.daemon_set);
  const auto object = co_await parts_.api.get(path);
  if (object) co_return CapacityOwner{options_.daemon_set, uid_of(object->root())};
  const ErrorCode code = object.error().code();
  if (code != ErrorCode::kNotFound) co_return object.error().context("looking for the DaemonSet");
  parts_.log.info(
      "what is published of this node's room has no owner and stays when flexlocal goes",
      {{"why", object.error().message()}});
  co_return CapacityOwner{};
}

// What was removed is known to be free only when the disks have been looked at again.
Task<Status> CapacityPublisher::know_disks() {
  const auto now = parts_.clock.now();
  if (parts_.ledger.is_current() || now - disks_asked_ < kBetweenDiskLooks) co_return Status();
  disks_asked_ = now;
  const Status refreshed = co_await parts_.ledger.refresh(false);
  co_return refreshed;
}

// A class that no claim can use has no room; why not is said on its claims.
std::optional<Bytes> CapacityPublisher::room_of(const std::string& storage_class) const {
  const StorageClass* const known = parts_.classes.get(storage_class);
  if (known == nullptr) return std::nullopt;
  const auto parameters = parse_class(*known);
  const auto usable = usable_();
  if (!usable) return std::nullopt;
  if (!parameters || !*usable) return Bytes(0);
  if (!parts_.ledger.inventory()) return std::nullopt;
  const auto room = [&](Bytes size) {
    return parts_.ledger.room(
        {.name = {}, .backend = parameters->backend, .pool = parameters->pool, .size = size}, "");
  };
  return largest_volume(*parameters, parts_.budget, parts_.ledger.given(parameters->pool, "", ""),
                        room);
}

std::vector<Bytes> CapacityPublisher::waiting_for(const std::string& storage_class) const {
  std::vector<Bytes> sizes;
  parts_.claims.for_each([&](const std::string&, const Claim& claim) {
    if (claim.storage_class != storage_class || !claim.volume_name.empty()) return;
    if (const auto size = parse_quantity(claim.requested)) sizes.push_back(*size);
  });
  return sizes;
}

bool CapacityPublisher::is_due(const std::string& storage_class, Bytes size) const {
  const auto told = told_.find(storage_class);
  if (told == told_.end()) return true;
  return parts_.clock.now() - told->second.when >= options_.poll_interval ||
         must_tell(told->second.size, size, [&] { return waiting_for(storage_class); });
}

Task<Status> CapacityPublisher::tell(const StorageClass& storage_class, Bytes size) {
  const auto now = parts_.clock.now();
  const std::string& name = storage_class.name;
  const std::string path = capacity_path(*place_, capacity_name(parts_.node, name));
  const std::string body = capacity_patch(*place_, storage_class, size);
  const auto patched = co_await parts_.api.merge_patch(path, body);
  Status done = patched ? Status() : Status(patched.error());
  const bool absent = !done && done.error().code() == ErrorCode::kNotFound;
  // Where nothing is told there is no room.
  if (absent && size == Bytes(0))
    done = Status();
  else if (absent)
    done = co_await create(storage_class, size);
  if (!done) co_return done.error().context(concat("telling the room for class ", name));
  told_.insert_or_assign(name, Told{size, now});
  parts_.log.debug("room told", {{"class", name}, {"size", to_string(size)}});
  co_return done;
}

Task<Status> CapacityPublisher::create(const StorageClass& storage_class, Bytes size) {
  const std::string path = capacity_path(*place_, "");
  const std::string body = capacity_json(*place_, parts_.node, storage_class, size);
  const auto made = co_await parts_.api.post(path, body);
  // There is no such collection, either: this API server is another than it was.
  if (!made && made.error().code() == ErrorCode::kNotFound) place_.reset();
  co_return made;
}

void CapacityPublisher::forget_gone_classes() {
  std::erase_if(told_, [&](const auto& told) { return parts_.classes.get(told.first) == nullptr; });
}

}  // namespace flexlocal::provisioner
