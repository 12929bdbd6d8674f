#include "provisioner/agent/volume_worker.h"

#include <algorithm>

#include "flexvolume/base/text.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// Whose pods may mount it; empty: nobody's, for its claim is gone.
std::string claim_of(const Volume& volume) {
  const bool released = volume.phase == "Released" || volume.phase == "Failed";
  return released ? std::string() : volume.claim_uid;
}

}  // namespace

Task<Result<Pass>> VolumeWorker::work(const std::string& name) {
  const auto known = parts_.volumes.get(name);
  if (known == nullptr) {
    wipes_.erase(name);
    began_.erase(name);
    co_return Pass::kDone;
  }
  const Volume volume = *known;  // the store may change while we wait
  const ReclaimPlan plan = plan_reclaim(volume, parts_.node.name);
  if (plan == ReclaimPlan::kRemove) {
    auto removed = co_await remove(volume);
    co_return removed;
  }
  began_.erase(name);
  tell_of_stopped_wipe(volume);
  if (plan == ReclaimPlan::kKeepDeleting)
    say(volume, kube::EventType::kWarning, "VolumeFailedDelete",
        "the claim is still bound to this volume; its data stays until the claim is deleted");
  Status carried_out;
  if (plan == ReclaimPlan::kRetain) carried_out = co_await retain(volume);
  if (plan == ReclaimPlan::kLetGo) {
    parts_.ledger.forget();  // a volume that there is stays: its space is not free
    carried_out = co_await drop_finalizer(volume);
  }
  if (plan == ReclaimPlan::kLeaveAlone && is_retained(volume))
    carried_out = co_await take_up(volume);
  const bool stays = plan == ReclaimPlan::kLeaveAlone || plan == ReclaimPlan::kKeepDeleting;
  if (carried_out && stays && needs_claim(volume)) carried_out = co_await record_claim(volume);
  if (carried_out && plan == ReclaimPlan::kLeaveAlone && is_promised(volume))
    carried_out = co_await promise_as_stated(volume);
  if (!carried_out) co_return carried_out.error();
  co_return Pass::kDone;
}

bool VolumeWorker::is_promised(const Volume& volume) const {
  const engine::Inventory* const seen = parts_.ledger.last_seen();
  if (seen == nullptr || volume.deleting || volume.node != parts_.node.name || !is_ours(volume) ||
      volume.name != concat("pvc-", claim_of(volume)))
    return false;
  return std::any_of(
      seen->promised.begin(), seen->promised.end(), [&](const engine::PromisedVolume& promised) {
        return promised.name.text() == volume.name && promised.cluster_id == parts_.cluster_id;
      });
}

// Of several tries for a claim whose class became another one, the one counts that made the object.
Task<Status> VolumeWorker::promise_as_stated(const Volume& volume) {
  const auto spec = spec_of(volume);
  if (!spec) co_return spec.error();
  auto promised = co_await parts_.storage.promise(*spec);
  if (!promised) co_return promised.error().context("promising the volume as it was made");
  co_return Status();
}

// The mark first: from the moment that the PersistentVolume is gone, what is not marked is an
// orphan's.
Task<Status> VolumeWorker::retain(const Volume& volume) {
  const auto spec = stated_spec(volume);
  Status marked = spec ? Status() : spec.error();
  if (spec) marked = co_await parts_.storage.set_retained(*spec, engine::Retained::kYes);
  if (!marked) {
    say(volume, kube::EventType::kWarning, "VolumeFailedDelete",
        concat("its data cannot be marked as retained, so that it stays: ",
               marked.error().message()));
    co_return marked;
  }
  parts_.ledger.forget();  // what the disks say of it is another thing now
  parts_.log.info("volume retained", {{"namespace", volume.claim_namespace},
                                      {"claim", volume.claim_name},
                                      {"volume", volume.name}});
  say(volume, kube::EventType::kNormal, "VolumeRetained",
      concat("its data stays on node ", parts_.node.name,
             " until an administrator removes it or creates the PersistentVolume again"));
  auto dropped = co_await drop_finalizer(volume);
  co_return dropped;
}

// A PersistentVolume that lives, of a volume that the disks call retained.
bool VolumeWorker::is_retained(const Volume& volume) const {
  const engine::Inventory* const seen = parts_.ledger.last_seen();
  if (seen == nullptr || volume.deleting || volume.node != parts_.node.name || !is_ours(volume))
    return false;
  return std::any_of(seen->retained.begin(), seen->retained.end(),
                     [&](const engine::RetainedVolume& kept) {
                       return kept.name == volume.name && kept.cluster_id == parts_.cluster_id;
                     });
}

// An administrator created it again: it is the one that the data lives and dies with. retain() and
// this are never at work on one volume at once, since they are one key's work. The server is asked
// first: a list from its cache may still have the PersistentVolume that retain() let go, and what
// that unmarks would be an orphan's once the cache has caught up.
Task<Status> VolumeWorker::take_up(const Volume& known) {
  const auto latest = co_await fetch(known);
  if (!latest) co_return latest.error();
  if (!*latest || !is_retained(**latest)) co_return Status();  // the watch brings what it is now
  const Volume& volume = **latest;
  const auto spec = stated_spec(volume);
  if (!spec) co_return spec.error();
  const engine::Retained no = engine::Retained::kNo;
  auto unmarked = co_await parts_.storage.set_retained(*spec, no);
  if (!unmarked) co_return unmarked.error().context("taking a retained volume up again");
  parts_.ledger.forget();
  parts_.log.info("retained volume taken up again", {{"namespace", volume.claim_namespace},
                                                     {"claim", volume.claim_name},
                                                     {"volume", volume.name}});
  co_return Status();
}

// Its record is for another claim, or for none: that claim came to the volume later, or the record
// was made anew from the disk, and the volume's pods wait. Until the records have been looked at,
// it is taken to be for the claim whose name the volume has.
bool VolumeWorker::needs_claim(const Volume& volume) const {
  if (volume.node != parts_.node.name || !is_ours(volume)) return false;
  const std::string claim = claim_of(volume);
  const engine::Inventory* const seen = parts_.ledger.last_seen();
  if (seen != nullptr)
    if (const auto recorded = seen->claims.find(volume.name); recorded != seen->claims.end())
      return recorded->second.cluster_id == parts_.cluster_id &&
             recorded->second.claim_uid != claim;
  return !claim.empty() && volume.name != concat("pvc-", claim);
}

Task<Status> VolumeWorker::record_claim(const Volume& volume) {
  const auto spec = stated_spec(volume);
  if (spec && spec->cluster_id != parts_.cluster_id) co_return Status();
  Status recorded = spec ? Status() : spec.error();
  const std::string claim = claim_of(volume);
  if (spec) recorded = co_await parts_.storage.record_claim(*spec, claim);
  if (recorded) co_return Status();
  const Error error = recorded.error().context("recording for which claim a volume is");
  say(volume, kube::EventType::kWarning, "VolumeNotRecorded", error.message());
  co_return error;
}

// What the informer has may be old, for as long as the API server cannot be reached: data is
// destroyed only on the server's own word of this moment. Nothing: it is not to be removed now.
// Asked before every slice of a wipe, too: a person who changes their mind half-way keeps what is
// left, for a rescue, and is told how much that is. It costs one request in some seconds.
Task<Result<std::optional<Volume>>> VolumeWorker::read_again(const Volume& volume) {
  auto latest = co_await fetch(volume);
  if (latest && *latest && plan_reclaim(**latest, parts_.node.name) != ReclaimPlan::kRemove)
    latest->reset();  // the watch brings what it is now
  co_return latest;
}

// The same object as it is now, or nothing when it is gone or another has its name.
Task<Result<std::optional<Volume>>> VolumeWorker::fetch(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  auto answer = co_await parts_.api.get(path);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return std::optional<Volume>();
  if (!answer) co_return answer.error().context("reading the PersistentVolume anew");
  std::optional<Volume> latest = decode_volume(answer->root());
  if (latest && latest->uid != volume.uid) latest.reset();
  co_return latest;
}

Task<Result<Pass>> VolumeWorker::remove(const Volume& known) {
  auto latest = co_await read_again(known);
  if (!latest) co_return latest.error();
  if (!*latest) co_return Pass::kDone;
  const Volume& volume = **latest;
  began_.emplace(volume.name, parts_.clock.now());
  auto taken = co_await take_back(volume);
  if (!taken) {
    count(volume, taken.error());
    say(volume, kube::EventType::kWarning, "VolumeFailedDelete", taken.error().message());
    co_return taken.error();
  }
  if (!taken->done) {
    tell_progress(volume, *taken);
    co_return Pass::kAgain;
  }
  parts_.ledger.forget();
  wipes_.erase(volume.name);
  auto gone = co_await let_go(volume);
  count(volume, gone);
  if (!gone) co_return gone.error();
  parts_.log.info("volume reclaimed", {{"namespace", volume.claim_namespace},
                                       {"claim", volume.claim_name},
                                       {"volume", volume.name}});
  co_return Pass::kDone;
}

// A conflict is neither: it is tried again, and nobody is to blame.
void VolumeWorker::count(const Volume& volume, const Status& gone) {
  WorkCounters& counters = parts_.work.remove;
  if (!gone && gone.error().code() == ErrorCode::kConflict) return;
  if (!gone) return counters.failed({volume.storage_class});
  const auto began = began_.extract(volume.name);
  if (!began.empty())
    counters.succeeded({volume.storage_class}, parts_.clock.now() - began.mapped());
}

Task<Result<engine::Removal>> VolumeWorker::take_back(const Volume& volume) {
  const auto spec = spec_of(volume);
  if (!spec) {
    // It stays for a person to decide about, and its claim is gone.
    const Status closed = co_await record_claim(volume);
    co_return closed ? spec.error() : closed.error();
  }
  if (spec->cluster_id != parts_.cluster_id)
    co_return Error(ErrorCode::kDenied,
                    "the volume was made for another cluster and is not removed");
  auto removed = co_await parts_.storage.remove(*spec);
  co_return removed;
}

void VolumeWorker::tell_progress(const Volume& volume, const engine::Removal& removal) {
  WipeProgress& progress = wipes_[volume.name];
  if (!progress.advance(removal, parts_.clock.now())) return;
  parts_.log.info("wiping", {{"namespace", volume.claim_namespace},
                             {"claim", volume.claim_name},
                             {"volume", volume.name},
                             {"wiped", to_string(removal.wiped)},
                             {"size", to_string(removal.size)}});
  say(volume, kube::EventType::kNormal, "VolumeWiping", progress.text());
}

// Data is gone that the PersistentVolume, kept now, seems to promise: that must be said. What an
// earlier daemon had begun shows in the tags.
void VolumeWorker::tell_of_stopped_wipe(const Volume& volume) {
  const auto& inventory = parts_.ledger.inventory();
  const bool tagged = inventory && std::any_of(inventory->volumes.begin(), inventory->volumes.end(),
                                               [&](const engine::LogicalVolume& lv) {
                                                 return lv.name == volume.name && lv.ownership &&
                                                        lv.ownership->wiping;
                                               });
  if (!tagged && !wipes_.contains(volume.name)) return;
  WipeProgress& progress = wipes_[volume.name];
  if (progress.stop())
    say(volume, kube::EventType::kWarning, "VolumeWiping", progress.stopped_text());
}

// First the deletion, then the finalizer: the other way round pv-protection could keep an object
// whose space is gone without a sign that it is to go.
Task<Status> VolumeWorker::let_go(const Volume& volume) {
  Volume latest = volume;
  if (!volume.deleting) {
    const std::string path = volume_path(volume.name);
    const kube::Preconditions same{.uid = volume.uid, .resource_version = {}};
    auto answer = co_await parts_.api.delete_object(path, same);
    if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
    if (!answer) co_return answer.error().context("deleting the PersistentVolume");
    if (auto decoded = decode_volume(answer->root())) latest = std::move(*decoded);
  }
  auto dropped = co_await drop_finalizer(latest);
  if (dropped || dropped.error().code() != ErrorCode::kConflict) co_return dropped;
  auto dropped_anew = co_await drop_finalizer_anew(latest);
  co_return dropped_anew;
}

// Most often it is pv-protection that was faster, which lets go at the same moment.
Task<Status> VolumeWorker::drop_finalizer_anew(const Volume& volume) {
  auto latest = co_await fetch(volume);
  if (!latest) co_return latest.error();
  const std::optional<Volume>& now = *latest;
  if (!now || !now->deleting || !is_held(*now)) co_return Status();  // it went without us
  auto dropped = co_await drop_finalizer(*now);
  co_return dropped;
}

Task<Status> VolumeWorker::drop_finalizer(const Volume& volume) {
  const std::string path = volume_path(volume.name);
  const std::string body = patch_without_finalizer(volume);
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer && answer.error().code() != ErrorCode::kNotFound)
    co_return answer.error().context("letting the PersistentVolume go");
  co_return Status();
}

void VolumeWorker::say(const Volume& volume, kube::EventType type, std::string_view reason,
                       const std::string& message) {
  parts_.events.record({reference_to(volume), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
