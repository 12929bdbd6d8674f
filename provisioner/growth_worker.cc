#include "provisioner/growth_worker.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/timestamp.h"

namespace flexlocal::provisioner {
namespace {

// The growth's reservation, beside that of the claim's making: a claim's name holds one slash.
std::string ticket_of(const std::string& claim) { return concat("growth/", claim); }

void write_version(JsonWriter& json, const std::string& version) {
  json.key("metadata").begin_object().member("resourceVersion", version).end_object();
}

std::string capacity_body(const Volume& volume, Bytes size) {
  JsonWriter json;
  json.begin_object().key("metadata").begin_object();
  json.member("resourceVersion", volume.resource_version);
  json.key("annotations").begin_object().member(kGranted, format_quantity(size)).end_object();
  json.end_object();
  json.key("spec").begin_object().key("capacity").begin_object();
  json.member("storage", format_quantity(size)).end_object().end_object().end_object();
  return json.take();
}

// A merge patch replaces the array: what others have put there is given back to them.
void write_others(JsonWriter& json, const Claim& claim) {
  for (const std::string& text : claim.other_conditions)
    if (const auto condition = JsonDocument::parse(text)) json.value(condition->root());
}

std::string complete_body(const Claim& claim, Bytes size) {
  JsonWriter json;
  json.begin_object();
  write_version(json, claim.resource_version);
  json.key("status").begin_object().key("capacity").begin_object();
  json.member("storage", format_quantity(size)).end_object();
  json.key("conditions").begin_array();
  write_others(json, claim);
  json.end_array().end_object().end_object();
  return json.take();
}

std::string pending_body(const Claim& claim, Clock::Wall now) {
  JsonWriter json;
  json.begin_object();
  write_version(json, claim.resource_version);
  json.key("status").begin_object().key("conditions").begin_array();
  write_others(json, claim);
  json.begin_object().member("type", kFileSystemResizePending).member("status", "True");
  json.member("lastTransitionTime", kube::format_time(now));
  json.member("message", "the volume has grown; its file system follows at the next mount");
  json.end_object().end_array().end_object().end_object();
  return json.take();
}

}  // namespace

Task<Status> GrowthWorker::work(const std::string& key) {
  const Claim* known = parts_.claims.get(key);
  const Volume* named = known == nullptr ? nullptr : parts_.volumes.get(known->volume_name);
  const GrowthPlan plan = known == nullptr
                              ? GrowthPlan(LeaveAlone{})
                              : plan_growth(*known, named, parts_.node.name, parts_.cluster_id);
  if (!std::holds_alternative<Growth>(plan)) parts_.ledger.release(ticket_of(key));
  if (const auto* refusal = std::get_if<Refuse>(&plan))
    co_return refuse(*known, Error(ErrorCode::kInvalid, refusal->why));
  const auto* growth = std::get_if<Growth>(&plan);
  if (growth == nullptr) co_return Status();
  const Claim claim = *known;  // the stores may change while we wait
  const Volume volume = *named;
  auto grown = co_await grow(claim, volume, *growth);
  co_return grown;
}

Task<Status> GrowthWorker::grow(const Claim& claim, const Volume& volume, const Growth& growth) {
  const std::string ticket = ticket_of(claim.key());
  const Clock::Instant began = parts_.clock.now();
  auto fit = co_await find_room(claim, growth);
  if (!fit) co_return refuse(claim, fit.error());
  const Bytes size = fit->size;
  if (awaits_mount(growth, claim, size, fit->held, *parts_.ledger.inventory())) {
    parts_.ledger.release(ticket);
    co_return Status();
  }
  // Nothing may be awaited between the look at the room and this: see Ledger.
  const Promise promise = promise_of(growth, size);
  parts_.ledger.reserve(ticket, promise);
  auto made = co_await grow_disks(claim, growth, size);
  parts_.ledger.forget();
  if (!made) {
    parts_.ledger.release(ticket);  // what was taken all the same, the next look at the disks shows
    co_return refuse(claim, made.error());
  }
  if (must_tell_volume(growth, size, *made)) {
    // Without an answer it stays reserved: the PersistentVolume may promise it by now.
    auto told = co_await tell_volume(volume, size);
    if (!told) co_return told;
  }
  parts_.ledger.release(ticket);
  auto concluded = co_await conclude(claim, growth, size, *made);
  if (concluded && *made)
    parts_.work.grow.succeeded({claim.storage_class}, parts_.clock.now() - began);
  co_return concluded;
}

// kNoSpace and kNotFound: not now. Two looks: what others freed in the last seconds counts.
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
    if (kept) co_return Fit{*size, room->held};
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

Task<Status> GrowthWorker::tell_volume(const Volume& volume, Bytes size) {
  const std::string path = kube::object_path("v1", "persistentvolumes", "", volume.name);
  const std::string body = capacity_body(volume, size);
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer) co_return answer.error().context("telling the PersistentVolume its capacity");
  parts_.volumes.put(answer->root());
  co_return Status();
}

Task<Status> GrowthWorker::conclude(const Claim& claim, const Growth& growth, Bytes size,
                                    bool made) {
  auto looked = co_await parts_.ledger.refresh(true);
  if (!looked) co_return looked.error().context("looking at this node's disks after a growth");
  const std::string& name = growth.spec.name.text();
  switch (end_of(growth, claim, made, *parts_.ledger.inventory())) {
    case GrowthEnd::kToldBefore:
      co_return Status();
    case GrowthEnd::kAtMount: {
      const std::string body = pending_body(claim, parts_.clock.wall());
      auto told = co_await write_status(claim, body);
      if (told)
        say(claim, kube::EventType::kNormal, "FileSystemResizeRequired",
            concat("volume ", name, " offers ", to_string(size),
                   "; its file system grows when a pod mounts it next"));
      co_return told;
    }
    case GrowthEnd::kComplete:
      break;
  }
  const std::string body = complete_body(claim, size);
  auto told = co_await write_status(claim, body);
  if (told)
    say(claim, kube::EventType::kNormal, "FileSystemResizeSuccessful",
        concat("volume ", name, " and its file system have ", to_string(size), " on node ",
               parts_.node.name));
  co_return told;
}

// A claim that is gone needs no status.
Task<Status> GrowthWorker::write_status(const Claim& claim, const std::string& body) {
  const std::string path =
      concat(kube::object_path("v1", "persistentvolumeclaims", claim.namespace_name, claim.name),
             "/status");
  auto answer = co_await parts_.api.merge_patch(path, body);
  if (!answer && answer.error().code() == ErrorCode::kNotFound) co_return Status();
  if (!answer) co_return answer.error().context("writing the claim's status");
  parts_.claims.put(answer->root());
  co_return Status();
}

Error GrowthWorker::refuse(const Claim& claim, const Error& why) {
  parts_.work.grow.failed({claim.storage_class});
  if (why.code() != ErrorCode::kCancelled)
    say(claim, kube::EventType::kWarning, "VolumeResizeFailed", why.message());
  return why;
}

void GrowthWorker::say(const Claim& claim, kube::EventType type, std::string_view reason,
                       const std::string& message) {
  parts_.events.record({reference_to(claim), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
