#include "provisioner/controller/cluster_lists.h"

#include <vector>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

// Every node beats: a watch of their Leases that has brought nothing for so long is begun anew,
// before the nodes seem silent.
constexpr auto kBeatsStall = std::chrono::seconds(45);
static_assert(kBeatsStall >= 2 * kHeartbeatInterval && kBeatsStall < kHeartbeatDuration);

// In every marked claim and class of ours, as a value of its own: an annotation's, the
// provisioner's.
std::string our_mark() { return concat('"', engine::kProvisioner, '"'); }

// Of one node, and of all its claims and classes, only what concerns it.

kube::ResourceKind claims_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"persistentvolumeclaims", claims_path(), {}, {}, {}};
  if (options.is_of_one_node()) kind.marks = {our_mark()};
  return kind;
}

// A leader goes by no label: where a person took that away, nobody would hear that the volume is to
// be retained.
kube::ResourceKind volumes_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"persistentvolumes", volumes_path(), {}, {}, {our_mark()}};
  if (options.is_of_one_node()) kind.label_selector = concat(kNodeLabel, '=', options.own_node);
  return kind;
}

kube::ResourceKind nodes_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"nodes", nodes_path(), {}, {}, {}};
  if (options.is_of_one_node()) kind.field_selector = by_name(options.own_node);
  return kind;
}

kube::ResourceKind beats_kind(const ClusterRoleOptions& options) {
  kube::ResourceKind kind{"leases", heartbeats_path(options.lease_namespace), {}, {}, {}};
  if (options.is_of_one_node()) kind.field_selector = by_name(heartbeat_name(options.own_node));
  return kind;
}

}  // namespace

ClusterLists::ClusterLists(kube::ApiClient& api, Log& log, const ClusterRoleOptions& options,
                           kube::Informer<VolumeCopy>* copies)
    : options_(options),
      claims_(api, log, claims_kind(options), [this](JsonView object) { return decode(object); }),
      volumes_(api, log, volumes_kind(options),
               [this](JsonView object) { return decode_own_volume(object); }),
      classes_(api, log, {"storageclasses", classes_path(), {}, {}}, decode_storage_class),
      nodes_(api, log, nodes_kind(options), decode_node),
      beats_(api, log, beats_kind(options), decode_heartbeat, {.stall = kBeatsStall}),
      own_copies_(copies != nullptr
                      ? nullptr
                      : std::make_unique<kube::Informer<VolumeCopy>>(
                            api, log, kube::ResourceKind{"volumecopies", copies_path(), {}, {}, {}},
                            decode_copy)),
      copies_(copies != nullptr ? *copies : *own_copies_) {
  classes_.on_change([this](const std::string& name) {
    if (classes_.get(name) != nullptr) know_class(name);
  });
  volumes_.on_change([this](const std::string& name) {
    if (const auto volume = volumes_.get(name)) know_class(volume->storage_class);
  });
}

// What was asked for by name may be another node's.
std::optional<Volume> ClusterLists::decode_own_volume(JsonView object) const {
  auto volume = decode_volume(object);
  if (volume && options_.is_of_one_node() && volume->node != options_.own_node) return std::nullopt;
  return volume;
}

// For good: a claim that is bound needs us also when its class is gone. Of one node, claims are
// passed over that neither bear our mark nor name a class of ours.
void ClusterLists::know_class(const std::string& name) {
  if (name.empty() || !class_names_.insert(name).second || !options_.is_of_one_node()) return;
  claims_.add_mark(concat(R"("storageClassName":")", name, '"'));
}

// Open claims of whichever class, and bound ones of ours, which may grow. Of one node all claims of
// other classes are passed over; and for absent nodes nothing grows.
std::optional<Claim> ClusterLists::decode(JsonView claim) const {
  if (options_.is_of_one_node()) return decode_claim_of(claim, class_names_);
  auto open = decode_open_claim(claim);
  if (open || options_.scope == Scope::kAbsentNodes) return open;
  return decode_claim_of(claim, class_names_);
}

void ClusterLists::follow(ReconcileLoop& loop) {
  loop.watch(follow_claims());
  loop.watch(volumes_.run());
  loop.watch(classes_.run());
  loop.watch(nodes_.run());
  loop.watch(beats_.run());
  if (own_copies_ != nullptr) loop.watch(own_copies_->run());
}

// Which bound claims are ours is known by the classes that are there.
Task<void> ClusterLists::follow_claims() {
  const auto classes = co_await classes_.wait_synced();
  const auto volumes = co_await volumes_.wait_synced();
  if (classes && volumes) co_await claims_.run();
}

bool ClusterLists::has_synced() const {
  return std::apply([](const auto&... each) { return (each.has_synced() && ...); }, informers());
}

Status ClusterLists::readiness() const {
  std::vector<std::string> missing;
  const auto look = [&missing](const auto& informer) {
    if (!informer.has_synced()) missing.push_back(informer.kind());
  };
  std::apply([&look](const auto&... each) { (look(each), ...); }, informers());
  if (missing.empty()) return {};
  return Error(ErrorCode::kUnavailable,
               concat("it leads, and has no complete list yet of ", join(missing, ", "),
                      ": nothing is decided before; what fails is in the log"));
}

}  // namespace flexlocal::provisioner
