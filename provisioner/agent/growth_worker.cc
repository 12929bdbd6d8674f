#include "provisioner/agent/growth_worker.h"

#include "flexvolume/base/text.h"
#include "provisioner/objects/growth_status.h"
#include "provisioner/objects/paths.h"
#include "provisioner/objects/volume_object.h"

namespace flexlocal::provisioner {
namespace {

// The growth's reservation, beside that of the claim's making: a claim's name holds one slash.
std::string ticket_of(const std::string& claim) { return concat("growth/", claim); }

}  // namespace

Task<Status> GrowthWorker::work(const std::string& key) {
  const auto known = parts_.claims.get(key);
  const auto named = known == nullptr ? nullptr : parts_.volumes.get(known->volume_name);
  const GrowthPlan plan =
      known == nullptr ? GrowthPlan(LeaveAlone{})
                       : plan_growth(*known, named.get(), parts_.node.name, parts_.cluster_id);
  if (!std::holds_alternative<Growth>(plan)) parts_.ledger.release(ticket_of(key));
  if (std::holds_alternative<LeaveAlone>(plan)) co_return Status();
  if (known == nullptr || named == nullptr) co_return Status();  // a plan is made of both
  const Claim claim = *known;  // the stores may change while we wait
  const Volume volume = *named;
  if (const auto* refusal = std::get_if<Refuse>(&plan)) {
    const Error why(ErrorCode::kInvalid, refusal->why);
    auto refused = co_await refuse(claim, why);
    co_return refused;
  }
  if (const auto* left = std::get_if<Settle>(&plan)) {
    auto settled = co_await settle(claim, volume, *left);
    co_return settled;
  }
  auto grown = co_await grow(claim, volume, std::get<Growth>(plan));
  co_return grown;
}

Task<Status> GrowthWorker::grow(const Claim& claim, const Volume& volume, const Growth& growth) {
  const std::string ticket = ticket_of(claim.key());
  const Clock::Instant began = parts_.clock.now();
  auto fit = co_await find_room(claim, growth);
  if (!fit) {
    auto failed = co_await fail(claim, volume, growth, fit.error());
    co_return failed;
  }
  const Bytes size = fit->size;
  if (says_pending(claim, fit->allocated) &&
      awaits_mount(growth, claim, size, fit->held, *parts_.ledger.inventory())) {
    parts_.ledger.release(ticket);
    co_return Status();
  }
  // Nothing may be awaited between the look at the room and this: see Ledger.
  const Promise promise = promise_of(growth, size);
  parts_.ledger.reserve(ticket, promise);
  auto made = co_await grow_disks(claim, growth, size);
  parts_.ledger.forget();
  if (!made) {
    // Until a look at the disks shows what was taken all the same, nobody else gets it.
    const Status looked = co_await parts_.ledger.refresh(true);
    if (looked) parts_.ledger.release(ticket);
    auto failed = co_await fail(claim, volume, growth, made.error());
    co_return failed;
  }
  if (needs_patch(growth, size, *made)) {
    // Without an answer it stays reserved: the PersistentVolume may promise it by now.
    auto told = co_await patch_capacity(volume, size, size);
    if (!told) co_return told;
  }
  parts_.ledger.release(ticket);
  auto concluded = co_await conclude(claim, growth, *fit, *made);
  if (concluded && *made)
    parts_.work.grow.succeeded({claim.storage_class}, parts_.clock.now() - began);
  co_return concluded;
}

// Returns kNoSpace or kNotFound if the volume cannot grow now. Measures a second time before it
// gives up, because space may just have been freed.
Task<Result<GrowthWorker::Fit>> GrowthWorker::find_room(const Claim& claim, const Growth& growth) {
  const std::string ticket = ticket_of(claim.key());
  Error refusal(ErrorCode::kUnavailable, "not looked yet");
  const Promise wanted = promise_of(growth, growth.asked);
  for (const bool anew : {false, true}) {
    auto refreshed = co_await parts_.ledger.refresh(anew);
    if (!refreshed) co_return refreshed.error().context("looking at this node's disks");
    const auto room = parts_.ledger.room(wanted, ticket);
    const auto size = room ? fit_growth(growth, parts_.node.name, *room) : room.error();
    const Status kept = size ? keep_in_budget(claim, growth, room->held, *size) : size.error();
    if (kept) {
      const bool as_requested = *size == size_asked(growth, *room);
      co_return Fit{*size, room->held, allocated_for(claim, *size, as_requested)};
    }
    refusal = kept.error();
  }
  co_return refusal;
}

// A class that is gone, or says nothing that can be kept, leaves the ratio to the node.
Status GrowthWorker::keep_in_budget(const Claim& claim, const Growth& growth, Bytes held,
                                    Bytes size) const {
  std::optional<Ratio> of_class;
  if (const StorageClass* const known = parts_.classes.get(claim.storage_class))
    if (const auto parameters = parse_class(*known)) of_class = parameters->disk_per_ram;
  const engine::VolumeSpec& spec = growth.spec;
  const Bytes given = parts_.ledger.given(spec.pool, spec.name.text(), ticket_of(claim.key()));
  return keep_budget(growth, parts_.node.name, {parts_.budget, of_class, given}, held, size);
}

Task<Result<bool>> GrowthWorker::grow_disks(const Claim& claim, const Growth& growth, Bytes size) {
  auto grown = co_await parts_.storage.grow(growth.spec, size);
  if (!grown && grown.error().code() == ErrorCode::kNotFound) co_return false;
  if (!grown) co_return grown.error();
  parts_.log.info("volume grown", {{"namespace", claim.namespace_name},
                                   {"claim", claim.name},
                                   {"volume", growth.spec.name.text()},
                                   {"pool", growth.spec.pool},
                                   {"size", to_string(size)}});
  co_return true;
}

Task<Status> GrowthWorker::patch_capacity(const Volume& volume, Bytes size,
                                          std::optional<Bytes> granted) {
  const std::string path = volume_path(volume.name);
  const std::string body = volume_growth_patch(volume, size, granted);
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer) co_return answer.error().context("telling the PersistentVolume its capacity");
  parts_.volumes.put(answer->root());
  co_return Status();
}

Task<Status> GrowthWorker::conclude(const Claim& claim, const Growth& growth, const Fit& fit,
                                    bool made) {
  auto looked = co_await parts_.ledger.refresh(true);
  if (!looked) co_return looked.error().context("looking at this node's disks after a growth");
  const GrowthEnd end = end_of(growth, made, *parts_.ledger.inventory());
  if (end == GrowthEnd::kAtMount) {
    auto told = co_await await_mount(claim, growth, fit);
    co_return told;
  }
  auto told = co_await complete(claim, growth, fit);
  co_return told;
}

Task<Status> GrowthWorker::complete(const Claim& claim, const Growth& growth, const Fit& fit) {
  const std::string body = complete_body(claim, fit.size, fit.allocated);
  auto told = co_await write_status(claim, body);
  if (told)
    record_event(claim, kube::EventType::kNormal, "FileSystemResizeSuccessful",
                 concat("volume ", growth.spec.name.text(), " and its file system have ",
                        to_string(fit.size), " on node ", parts_.node.name));
  co_return told;
}

Task<Status> GrowthWorker::await_mount(const Claim& claim, const Growth& growth, const Fit& fit) {
  if (says_pending(claim, fit.allocated)) co_return Status();
  const std::string body = pending_body(claim, fit.allocated, parts_.clock.wall());
  auto told = co_await write_status(claim, body);
  if (told && !claim.file_system_pending)
    record_event(claim, kube::EventType::kNormal, "FileSystemResizeRequired",
                 concat("volume ", growth.spec.name.text(), " offers ", to_string(fit.size),
                        "; its file system grows when a pod mounts it next"));
  co_return told;
}

Task<Status> GrowthWorker::settle(const Claim& claim, const Volume& volume, const Settle& settle) {
  if (settle.capacity_differs) {
    auto patched = co_await patch_capacity(volume, settle.size, std::nullopt);
    if (!patched) co_return patched;
  }
  if (!settle.status_differs) co_return Status();
  const std::string body =
      complete_body(claim, settle.size, allocated_for(claim, settle.size, false));
  auto written = co_await write_status(claim, body);
  co_return written;
}

Task<Error> GrowthWorker::fail(const Claim& claim, const Volume& volume, const Growth& growth,
                               const Error& why) {
  record_failure(claim, why);
  if (why.code() == ErrorCode::kCancelled) co_return why;
  const auto corrected = co_await correct(claim, volume, growth);
  warn_unless_overtaken(claim, corrected);
  co_return why;
}

// Disks that could not be looked at leave unknown what the volume has, and so what is to be
// written. An expand controller that is at work writes more in a moment, which brings the claim
// here again.
Task<Status> GrowthWorker::correct(const Claim& claim, const Volume& volume, const Growth& growth) {
  if (claim.resize_status == kControllerResizeInProgress) co_return Status();
  if (parts_.ledger.trouble()) co_return Status();
  auto looked = co_await parts_.ledger.refresh(false);
  if (!looked) co_return Status();
  const auto room = parts_.ledger.room(promise_of(growth, growth.asked), ticket_of(claim.key()));
  if (!room) co_return Status();
  const Bytes has = size_kept(growth, room->held);
  // The expand controller has raised it to what was asked for.
  if (growth.capacity > has) {
    auto patched = co_await patch_capacity(volume, has, std::nullopt);
    if (!patched) co_return patched;
  }
  auto written = co_await patch_failed(claim, has, has == size_asked(growth, *room));
  co_return written;
}

Task<Status> GrowthWorker::patch_failed(const Claim& claim, Bytes has, bool as_requested) {
  const std::string allocated = allocated_for(claim, has, as_requested);
  if (says_failed(claim, allocated, has)) co_return Status();
  const std::string body = failed_body(claim, allocated, has, parts_.clock.wall());
  auto written = co_await write_status(claim, body);
  co_return written;
}

// The PersistentVolume is none that this daemon may change.
Task<Error> GrowthWorker::refuse(const Claim& claim, const Error& why) {
  record_failure(claim, why);
  const auto has = parse_quantity(claim.capacity);
  if (!has) co_return why;
  const auto written = co_await patch_failed(claim, *has, false);
  warn_unless_overtaken(claim, written);
  co_return why;
}

// A claim that is gone needs no status.
Task<Status> GrowthWorker::write_status(const Claim& claim, const std::string& body) {
  const std::string path = claim_status_path(claim);
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("writing the claim's status");
  parts_.claims.put(answer->root());
  co_return Status();
}

void GrowthWorker::record_failure(const Claim& claim, const Error& why) {
  parts_.work.grow.failed({claim.storage_class});
  if (why.code() != ErrorCode::kCancelled)
    record_event(claim, kube::EventType::kWarning, "VolumeResizeFailed", why.message());
}

// The growth is tried again in any case, and this with it. After a conflict the watch brings what
// the other one wrote.
void GrowthWorker::warn_unless_overtaken(const Claim& claim, const Status& corrected) {
  if (corrected || corrected.error().code() == ErrorCode::kConflict) return;
  parts_.log.warning("the claim does not say yet that its volume has not grown",
                     {{"namespace", claim.namespace_name},
                      {"claim", claim.name},
                      {"volume", claim.volume_name},
                      {"error", corrected.error().message()}});
}

void GrowthWorker::record_event(const Claim& claim, kube::EventType type, std::string_view reason,
                                const std::string& message) {
  parts_.events.record({reference_to(claim), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
