#include "provisioner/controller/publish/capacity_publisher.h"

#include "flexvolume/base/text.h"
#include "provisioner/controller/capacity/capacity_plan.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

Task<Status> CapacityPublisher::work(const std::string& name) {
  const auto placed = co_await find_place();
  if (!placed || !has_place()) co_return placed;
  std::vector<std::string> classes;
  view_.classes.for_each(
      [&](const std::string& of, const StorageClass&) { classes.push_back(of); });
  Status outcome;
  for (const std::string& of : classes) {
    // The stores may have changed while the API server was waited for.
    const Node* const node = view_.nodes.get(name);
    const StorageClass* const known = view_.classes.get(of);
    if (node == nullptr || known == nullptr) continue;
    const Bytes size = room_of(*node, *known);
    const auto last = published_.find({name, of});
    if (last != published_.end() &&
        !needs_update(last->second, size, [&] { return waiting_.sizes_of(of); }))
      continue;
    const NodeIdentity identity = identity_of(*node);
    if (identity.hostname.empty()) continue;
    const StorageClass storage_class = *known;
    const auto done = co_await publish(identity, storage_class, size);
    if (!done && outcome) outcome = done;
  }
  co_return outcome;
}

Bytes CapacityPublisher::room_of(const Node& node, const StorageClass& storage_class) {
  const auto parameters = parse_class(storage_class);
  const NodeView view = view_.nodes.view_of(node);
  if (!parameters || !view.carries_out() || view_.copies.has_open_withdrawal(node.name) ||
      !is_allowed(storage_class, node) || chooser_.hides_room(node.name, storage_class.name))
    return {};
  const WantedVolume wanted{
      {.name = {}, .backend = parameters->backend, .pool = parameters->pool, .size = {}},
      parameters->disk_per_ram};
  return largest_on(view, wanted) - view_.copies.uncounted(view, parameters->pool);
}

// Once; an API server that has no such objects is asked again, for it may be a newer one then.
// Several workers may look at once: what one has found the others leave as it is.
Task<Status> CapacityPublisher::find_place() {
  if (has_place()) co_return Status();
  const auto version = co_await find_capacity_version(api_);
  if (!version) co_return version.error();
  CapacityPlace found;
  if (!version->empty()) {
    auto owner = co_await find_owner();
    if (!owner) co_return owner.error();
    found = CapacityPlace{*version, daemon_set_.namespace_name, std::move(*owner)};
  }
  if (!has_place()) place_ = std::move(found);
  co_return Status();
}

// A daemon that is not run by a DaemonSet has objects without an owner.
Task<Result<CapacityOwner>> CapacityPublisher::find_owner() {
  const std::string path = daemon_set_path(daemon_set_.namespace_name, daemon_set_.name);
  const auto object = co_await api_.get(path);
  if (object) co_return CapacityOwner{daemon_set_.name, uid_of(object->root())};
  if (object.error().code() != ErrorCode::kNotFound)
    co_return object.error().context("looking for the DaemonSet");
  co_return CapacityOwner{};
}

Task<Status> CapacityPublisher::publish(const NodeIdentity& node, const StorageClass& storage_class,
                                        Bytes size) {
  const std::string path = capacity_path(*place_, capacity_name(node, storage_class.name));
  const std::string body = capacity_patch(*place_, storage_class, size);
  const auto patched = co_await api_.merge_patch(path, body);
  Status done = patched ? Status() : Status(patched.error());
  const bool absent = !done && done.error().code() == ErrorCode::kNotFound;
  // Where nothing is published there is no room.
  if (absent && size == Bytes(0)) {
    done = Status();
  } else if (absent) {
    const std::string all = capacity_path(*place_, "");
    const std::string object = capacity_json(*place_, node, storage_class, size);
    done = co_await api_.post(all, object);
  }
  if (!done)
    co_return done.error().context(
        concat("telling the room of node ", node.name, " for class ", storage_class.name));
  published_.insert_or_assign(Key{node.name, storage_class.name}, size);
  co_return Status();
}

void CapacityPublisher::compare(const std::map<Key, Bytes>& published) {
  std::erase_if(published_, [&](const auto& known) {
    const auto found = published.find(known.first);
    const bool changed = (found == published.end() ? Bytes() : found->second) != known.second;
    if (changed && on_changed_) on_changed_(known.first.first);
    return changed;
  });
}

}  // namespace flexlocal::provisioner
