#include "provisioner/controller/room_reconciler.h"

#include "provisioner/controller/view/work_keys.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {

void RoomReconciler::watch() {
  publisher_.on_changed([this](const std::string& node) { enqueue(node); });
  chooser_.on_hidden([this](const std::string& node) {
    enqueue(node);
    queue_.add_after(concat(kRoomKey, node), NodeChooser::kHidden);
  });
  view_.nodes.nodes().on_change([this](const std::string& name) { enqueue(name); });
  view_.nodes.beats().on_change([this](const std::string& key) {
    if (const auto node = node_of_heartbeat(key.substr(key.find('/') + 1))) enqueue(*node);
  });
  view_.copies.copies().on_change([this](const std::string& name) {
    const auto copy = view_.copies.copies().get(name);
    if (copy != nullptr && copy->order) enqueue(copy->order->node);
  });
  view_.classes.on_change([this](const std::string&) {
    view_.nodes.for_each([this](const std::string& name, const Node&) { enqueue(name); });
  });
}

void RoomReconciler::enqueue(const std::string& node) {
  if (term_.has_begun() && enabled_ && view_.orders_for(node))
    provisioner::enqueue(queue_, kRoomKey, node);
}

void RoomReconciler::republish(const std::string& node) {
  publisher_.forget_published();
  enqueue(node);
}

}  // namespace flexlocal::provisioner
