#include "provisioner/controller/view/fleet_roll.h"

#include <functional>

#include "flexvolume/base/text.h"
#include "provisioner/controller/view/silence_check.h"
#include "provisioner/controller/view/unordered_copies.h"
#include "provisioner/kube/task_group.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

std::uint64_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

// Nothing of the copy is left, or will be.
bool is_over_with(const VolumeCopy& copy) {
  return copy.order && is_to_go(copy.order->desired) && copy.status.state == CopyState::kRemoved;
}

}  // namespace

// What was read of all nodes.
struct FleetRoll::Fleet {
  Fleet(kube::ApiClient& api, const Clock& clock, Log& log, const std::string& lease_namespace,
        const FleetRollOptions& options)
      : nodes(api, log, {"nodes", nodes_path(), {}, {}}, decode_node),
        beats(api, log, {"leases", heartbeats_path(lease_namespace), {}, {}}, decode_heartbeat),
        copies(api, log, {"volumecopies", copies_path(), {}, {}}, decode_copy),
        cache(nodes, beats, clock, lease_namespace),
        index(copies, clock),
        put_back(options.was_put_back),
        roll(cache, index, options.own_node, clock, log, put_back),
        unordered(cache, index),
        silence(api, cache, log, options.silence_interval) {
    beats.on_change([this](const std::string& key) {
      if (const NodeHeartbeat* const beat = beats.get(key)) roll.heard(*beat);
    });
  }

  bool has_synced() const {
    return nodes.has_synced() && beats.has_synced() && copies.has_synced();
  }
  // Of a copy on another node than this daemon's.
  std::optional<std::string> with(const std::string& own_node, const Claim& claim) const;

  kube::Informer<Node> nodes;
  kube::Informer<NodeHeartbeat> beats;
  kube::Informer<VolumeCopy> copies;
  NodeCache cache;
  CopyIndex index;
  bool put_back;
  RollCaller roll;
  UnorderedCopies unordered;
  SilenceCheck silence;
  bool begun = false;
};

std::optional<std::string> FleetRoll::Fleet::with(const std::string& own_node,
                                                  const Claim& claim) const {
  // One that was only ordered, and has no PersistentVolume, nobody has written to: its node gives
  // way.
  const auto may_have_data = [&](const VolumeCopy& copy) {
    return !is_understood(copy) || copy.order->origin != Origin::kNew ||
           copy.order->desired == DesiredState::kRetained || is_kept(copy) || roll.shows_put_back();
  };
  for (const KnownCopy& copy : index.of_volume(volume_of_claim(claim.uid)))
    if (copy->agent != own_node && !is_over_with(*copy) && may_have_data(*copy))
      return concat("node ", copy->agent,
                    " was ordered to have the volume of this claim "
                    "(VolumeCopy ",
                    copy->name, ")");
  const KnownCopy holding = index.holding(claim.key());
  if (holding != nullptr && holding->agent != own_node)
    return concat("node ", holding->agent,
                  " has the volume of an earlier claim of this name "
                  "(VolumeCopy ",
                  holding->name, ")");
  const auto told = unordered.of_claim(claim);
  if (told && told->node.name != own_node)
    return concat("node ", told->node.name, " has a volume of ",
                  told->of_this_claim ? "this claim" : "an earlier claim of this name",
                  " that no VolumeCopy names (copy ", told->copy.volume.copy, ")");
  return std::nullopt;
}

// Begun anew, all are to be heard anew.
void FleetRoll::begin(std::int64_t term) {
  term_ = term;
  over_ = false;
  if (fleet_ != nullptr) fleet_->begun = false;
}

bool FleetRoll::shows_put_back() const {
  if (fleet_ != nullptr && fleet_->begun) return fleet_->roll.shows_put_back();
  return was_put_back() || shows_put_back_;
}

Task<void> FleetRoll::run() {
  for (;;) {
    while (!is_needed())
      if (const Status asked = co_await asks_.wait(); !asked) co_return;
    const bool goes_on = co_await read();
    if (!goes_on) co_return;
  }
}

// Until nobody needs it any more. False: its task was told to stop.
Task<bool> FleetRoll::read() {
  began_ = clock_.now();
  FleetRollOptions options = options_;
  options.was_put_back = was_put_back();
  Fleet fleet(api_, clock_, log_, own_.lease_namespace(), options);
  kube::TaskGroup readers(io_);
  readers.spawn(fleet.nodes.run());
  readers.spawn(fleet.beats.run());
  readers.spawn(fleet.copies.run());
  readers.spawn(fleet.silence.run());
  fleet_ = &fleet;
  Status slept;
  while (slept && is_needed()) {
    slept = co_await kube::sleep_for(kBetweenLooks);
    look();
  }
  // What a reading that came to nothing has not seen is not forgotten.
  if (fleet.begun && fleet.roll.is_over()) remember();
  fleet_ = nullptr;
  const bool ended = co_await readers.end();  // what they refer to must outlive them
  const bool goes_on = slept && ended;
  co_return goes_on;
}

void FleetRoll::look() {
  if (fleet_ == nullptr || !fleet_->has_synced()) return;
  if (!fleet_->begun) fleet_->roll.begin(term_);
  fleet_->begun = true;
  const bool over = fleet_->roll.is_over();
  if (over) shows_put_back_ = fleet_->roll.shows_put_back();
  over_ = over_ || over;
}

// As long as it has not heard all, and for a while after the last who asked.
bool FleetRoll::is_needed() const { return begun_ && (!over_ || clock_.now() - asked_ < kKept); }

void FleetRoll::ask() {
  asked_ = clock_.now();
  if (fleet_ == nullptr) began_ = asked_;
  begun_ = true;
  asks_.notify_all();
}

bool FleetRoll::is_over() {
  if (!over_) ask();
  return over_;
}

std::chrono::nanoseconds FleetRoll::lasted() const {
  return begun_ ? clock_.now() - began_ : std::chrono::nanoseconds(0);
}

std::string FleetRoll::words() const {
  if (fleet_ == nullptr || !fleet_->begun) return "the list of all nodes' volumes is being read";
  return fleet_->roll.words();
}

// What nobody else has need not be read again.
std::optional<std::string> FleetRoll::elsewhere(const Claim& claim) {
  if (fleet_ == nullptr && !is_remembered(claim)) return std::nullopt;
  ask();
  if (fleet_ == nullptr || !fleet_->begun || !fleet_->roll.is_over()) return std::string();
  return fleet_->with(options_.own_node, claim);
}

// An object's versions only rise, also of one that was deleted and made again.
Task<Status> FleetRoll::confirm() {
  const NodeHeartbeat* const known = own_.beat_of(options_.own_node);
  if (known == nullptr) co_return Error(ErrorCode::kUnavailable, "the node's Lease is not there");
  const kube::ObjectVersion seen(known->resource_version);
  const std::string path = heartbeat_path(own_.lease_namespace(), options_.own_node);
  const auto lease = co_await api_.get(path);
  const bool missing = !lease && lease.error().code() == ErrorCode::kNotFound;
  if (!lease && !missing) co_return lease.error().context("looking at the node's Lease");
  if (!missing &&
      !seen.newer_than(kube::ObjectVersion(lease->root()["metadata"]["resourceVersion"].text())))
    co_return Status();
  co_return Error(ErrorCode::kUnavailable,
                  "the API server was put back to an earlier state: nothing new is ordered before "
                  "this daemon has read it anew");
}

bool FleetRoll::is_remembered(const Claim& claim) const {
  return known_.contains(hash_of(volume_of_claim(claim.uid))) ||
         known_.contains(hash_of(claim.key()));
}

// Bound claims do not ask: most of it is never looked at.
void FleetRoll::remember() {
  known_.clear();
  const std::string& own_node = options_.own_node;
  fleet_->copies.for_each([&](const std::string& name, const VolumeCopy& copy) {
    if (copy.agent == own_node || is_over_with(copy)) return;
    known_.insert(hash_of(volume_of_copy(name)));
    if (!copy.holds.empty()) known_.insert(hash_of(copy.holds));
  });
  fleet_->unordered.for_each([&](const NodeIdentity& node, const ToldCopy& copy) {
    if (node.name == own_node) return;
    known_.insert(hash_of(copy.volume.name.text()));
    known_.insert(hash_of(concat(copy.volume.claim_namespace, '/', copy.claim_name)));
  });
}

}  // namespace flexlocal::provisioner
