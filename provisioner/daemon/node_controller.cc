#include "provisioner/daemon/node_controller.h"

#include "flexvolume/base/text.h"
#include "provisioner/agent/pool_metrics.h"
#include "provisioner/controller/cluster_metrics.h"
#include "provisioner/controller/reclaim/end_plan.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// For so long after a beat the Lease is taken for ours: less than another host waits before it
// takes it.
constexpr std::chrono::seconds kLeaseHolds = kHeartbeatDuration - kHeartbeatInterval;

ClusterRoleOptions role_options(const DaemonOptions& options) {
  ClusterRoleOptions role = controller_options(options);
  role.scope = Scope::kOneNode;
  role.own_node = options.node_name;
  role.label_nodes = false;
  role.register_driver = false;
  return role;
}

}  // namespace

NodeController::NodeController(Process& process, kube::Http& http,
                               kube::Informer<VolumeCopy>& copies, bool put_back)
    : gate_(http, clock_),
      api_(gate_, process.clock(), api_options(process.options())),
      put_back_(put_back),
      role_(process.io(), api_, clock_, process.log(), role_options(process.options()), work_,
            put_back_, &copies) {}

Task<void> NodeController::run() {
  while (!gate_.is_open() && !stopped_)
    if (const Status waited = co_await heard_.wait(); !waited) co_return;
  if (!stopped_) co_await role_.run();
}

void NodeController::stop() {
  stopped_ = true;
  role_.stop();
  heard_.notify_all();
}

// A beat that failed says nothing of whose the Lease is, but for one that found another's there.
void NodeController::heard(const Status& beaten) {
  if (beaten)
    gate_.open_until(clock_.now() + kLeaseHolds);
  else if (beaten.error().code() == ErrorCode::kBusy)
    gate_.shut();
  heard_.notify_all();
}

Task<Status> NodeController::confirm(const VolumeCopy& copy) {
  if (!copy.order || !is_to_go(copy.order->desired)) co_return Status();
  const CopyOrder& order = *copy.order;
  const std::string path = volume_path(order.volume.name.text());
  const auto found = co_await api_.get(path);
  if (!found && found.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!found) co_return found.error().context("looking whether the removal still holds");
  const auto volume = decode_volume(found->root());
  if (!volume || volume->copy != order.volume.copy) co_return Status();
  if (plan_end(*volume, &copy).desired == DesiredState::kRemoved) co_return Status();
  co_return Error(ErrorCode::kConflict,
                  concat("PersistentVolume ", volume->name, " is not to be removed any more"));
}

Status NodeController::readiness() const {
  const ClusterView& view = role_.view();
  for (const Status& list :
       {check_synced(view.claims), check_synced(view.volumes), check_synced(view.classes)})
    if (!list) return list;
  return {};
}

void NodeController::show_in(kube::Metrics& metrics) const {
  work_.volumes.show_in(metrics);
  metrics.show(work_.claims_taken);
  metrics.show(work_.immediate_conflicts);
  show_volumes(metrics, role_.view());
}

void NodeController::add_to(kube::ClientView& client) const {
  client.queues.push_back({&role_.queue(), "controller"});
  client.apis.push_back(&api_);
  const ClusterView& view = role_.view();
  for (const auto& informer : {kube::InformerView(view.claims), kube::InformerView(view.volumes),
                               kube::InformerView(view.classes)})
    client.informers.push_back(informer);
}

}  // namespace flexlocal::provisioner
