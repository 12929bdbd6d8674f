#include "provisioner/agent/orphan_collector.h"

#include <algorithm>

#include "flexvolume/base/first_failure.h"
#include "flexvolume/base/text.h"
#include "provisioner/controller/reclaim/missing_plan.h"
#include "provisioner/kube/complete_list.h"
#include "provisioner/objects/paths.h"

namespace flexlocal::provisioner {
namespace {

constexpr std::string_view kOrphaned = "OrphanedVolume";

// As for a reclaim: each slice takes seconds, and one that could do nothing must not make a circle.
constexpr auto kBetweenSlices = std::chrono::milliseconds(100);

std::string place_text(const Suspect& suspect, const std::string& node) {
  return concat(suspect.is_folder() ? "quota folder " : "logical volume ", suspect.place(), " (",
                to_string(suspect.size), ", namespace ", suspect.spec.claim_namespace, ") on node ",
                node);
}

// The disks' word of this moment: what was looked at last may be of before a volume was marked as
// retained, whose PersistentVolume goes right after.
Task<Result<bool>> is_suspect_still(NodeParts& parts, const engine::NodeConfig& config,
                                    const Suspect& suspect) {
  auto looked = co_await parts.ledger.refresh(true);
  if (!looked) co_return looked.error();
  const auto suspects = suspects_in(*parts.ledger.inventory(), config, parts.cluster_id);
  co_return std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& now) {
    return now.place() == suspect.place() && now.uuid == suspect.uuid;
  });
}

}  // namespace

Task<void> OrphanCollector::run() {
  auto claims = co_await parts_.claims.wait_synced();
  auto volumes = co_await parts_.volumes.wait_synced();
  if (!claims || !volumes) co_return;
  Clock::Instant next = parts_.clock.now();
  for (;;) {
    if (parts_.clock.now() >= next) {
      next = parts_.clock.now() + options_.interval;
      auto swept = co_await sweep();
      std::string trouble = swept ? std::string() : swept.error().message();
      if (!trouble.empty() && trouble != told_)
        parts_.log.warning("volumes without a PersistentVolume could not be looked for",
                           {{"error", trouble}});
      told_ = std::move(trouble);
    }
    const bool more = co_await remove_some();
    std::chrono::nanoseconds pause = next - parts_.clock.now();
    if (more) pause = std::min<std::chrono::nanoseconds>(pause, kBetweenSlices);
    auto slept = co_await kube::sleep_for(pause);
    if (!slept) co_return;
  }
}

Task<Status> OrphanCollector::sweep() {
  auto refreshed = co_await parts_.ledger.refresh(false);
  if (!refreshed) co_return refreshed;
  OrphanSweep look;
  const engine::Inventory& inventory = *parts_.ledger.inventory();
  tell_of_missing(inventory);
  look.suspects = suspects_in(inventory, config_, parts_.cluster_id);
  std::erase_if(look.suspects, [&](const Suspect& suspect) {
    return parts_.volumes.get(suspect.name()) != nullptr;
  });
  if (!look.suspects.empty()) {  // else the server need not be asked
    const std::string path = volumes_path();
    const std::string selector = concat(kNodeLabel, '=', parts_.node.name);
    const std::string field = "name";
    auto listed = co_await complete_list(parts_.api, path, selector, field);
    if (!listed) co_return listed.error().context("listing this node's PersistentVolumes");
    look.volumes = std::move(*listed);
    look.claim_uids = claim_uids();
  }
  look.now = parts_.clock.now();
  FirstFailure all;
  const std::vector<OrphanStep> steps = register_.sweep(look);
  parts_.work.orphans.with({}).set(static_cast<double>(register_.orphans()));
  for (const OrphanStep& step : steps) {
    auto taken = co_await take(step);
    if (!taken) all.note(taken.error().context(step.suspect.place()));
  }
  co_return all.status();
}

Task<Status> OrphanCollector::take(const OrphanStep& step) {
  const Suspect& suspect = step.suspect;
  auto without = co_await is_without_volume(suspect);
  if (!without) co_return without.error();
  if (!*without) co_return Status();
  if (step.action == OrphanAction::kTellClaim) tell_claim(suspect);
  if (step.action == OrphanAction::kReport || step.action == OrphanAction::kReportOnly)
    report(step);
  if (step.action == OrphanAction::kRemove && !removing_.contains(suspect.place())) {
    auto claimed = co_await has_claim(suspect);
    if (!claimed) co_return claimed.error();
    if (*claimed) co_return Status();
    auto still = co_await is_suspect_still(parts_, config_, suspect);
    if (!still) co_return still.error();
    if (!*still) co_return Status();
    if (!troubles_.contains(suspect.place()))  // else it has been said
      parts_.log.info("orphaned volume is being removed", {{"volume", suspect.name()},
                                                           {"group", suspect.group},
                                                           {"size", to_string(suspect.size)}});
    removing_.emplace(suspect.place(), suspect);
  }
  register_.done(step);
  co_return Status();
}

// One without our label, or with another node's, is no PersistentVolume of this node's list.
Task<Result<bool>> OrphanCollector::is_without_volume(const Suspect& suspect) {
  const std::string path = volume_path(suspect.name());
  auto answer = co_await parts_.api.get(path);
  if (answer) co_return false;
  if (answer.error().code() == ErrorCode::kNotFound) co_return true;
  co_return answer.error().context("asking whether the PersistentVolume is gone");
}

// The informer keeps claims with our annotation only, and a person may have taken it away.
Task<Result<bool>> OrphanCollector::has_claim(const Suspect& suspect) {
  const std::string path = claims_path(suspect.spec.claim_namespace);
  const std::string no_selector;
  const std::string field = "uid";
  auto uids = co_await complete_list(parts_.api, path, no_selector, field);
  if (!uids) co_return uids.error().context("asking whether the claim is gone");
  co_return uids->contains(suspect.spec.name.claim_uid());
}

Task<bool> OrphanCollector::remove_some() {
  const std::map<std::string, Suspect> removing = removing_;
  for (const auto& [place, suspect] : removing) {
    auto more = co_await remove_slice(suspect);
    if (!more) report_failure(suspect, more.error());
    if (!more || !*more) removing_.erase(place);  // the next look decides anew
  }
  co_return !removing_.empty();
}

// True: there is more to wipe. Asked before every slice, as a reclaim does.
Task<Result<bool>> OrphanCollector::remove_slice(const Suspect& suspect) {
  auto without = co_await is_without_volume(suspect);
  if (!without) co_return without.error();
  const bool known = parts_.volumes.get(suspect.name()) != nullptr;
  if (!*without || known || claim_uids().contains(suspect.spec.name.claim_uid())) co_return false;
  auto removed = co_await parts_.storage.remove(suspect.spec);
  if (!removed) co_return removed.error();
  if (!removed->done) co_return true;
  parts_.ledger.forget();
  troubles_.erase(suspect.place());
  parts_.log.info("orphaned volume removed",
                  {{"volume", suspect.name()}, {"group", suspect.group}});
  say_on_node(kube::EventType::kNormal, "OrphanedVolumeDeleted",
              concat(place_text(suspect, parts_.node.name),
                     " had neither PersistentVolume nor claim and is removed"));
  co_return false;
}

std::set<std::string> OrphanCollector::claim_uids() const {
  std::set<std::string> uids;
  parts_.claims.for_each([&](const std::string&, const Claim& claim) { uids.insert(claim.uid); });
  return uids;
}

void OrphanCollector::tell_of_missing(const engine::Inventory& inventory) {
  std::set<std::string> missing;
  parts_.volumes.for_each([&](const std::string& name, const Volume& volume) {
    if (!is_missing(volume, parts_.node.name, parts_.node.uid, inventory)) return;
    missing.insert(name);
    if (missing_.contains(name)) return;
    const std::string text = missing_text(volume, parts_.node.name);
    parts_.log.warning("a volume of this node's predecessor is not here",
                       {{"namespace", volume.claim_namespace},
                        {"claim", volume.claim_name},
                        {"volume", name},
                        {"made_on", volume.node_uid}});
    parts_.events.record(
        {reference_to_claim_of(volume), kube::EventType::kWarning, "VolumeMissing", text});
  });
  missing_ = std::move(missing);
}

void OrphanCollector::tell_claim(const Suspect& suspect) {
  const std::string text = concat(
      "PersistentVolume ", suspect.name(), " was deleted while this claim exists; its data, ",
      place_text(suspect, parts_.node.name),
      ", stays as long as the claim does: copy it away before the claim is deleted, or "
      "create the PersistentVolume again as it was");
  parts_.claims.for_each([&](const std::string&, const Claim& claim) {
    if (claim.uid != suspect.spec.name.claim_uid()) return;
    parts_.log.warning(
        "a claim has lost its PersistentVolume; its data stays",
        {{"namespace", claim.namespace_name}, {"claim", claim.name}, {"volume", suspect.name()}});
    parts_.events.record(
        {reference_to(claim), kube::EventType::kWarning, std::string(kOrphaned), text});
  });
}

void OrphanCollector::report(const OrphanStep& step) {
  const Suspect& suspect = step.suspect;
  const std::string_view by_hand = suspect.is_folder()
                                       ? "create its PersistentVolume again with policy Delete"
                                       : "remove it with lvremove";
  const std::string advice =
      step.action == OrphanAction::kReportOnly
          ? concat(
                "; it is not deleted, since the API server lists no PersistentVolume of this node "
                "at all: ",
                by_hand, " if nobody needs its data")
          : concat("; ", by_hand,
                   " if nobody needs its data, or let orphans be removed by "
                   "--orphan-policy=delete");
  parts_.log.warning("orphaned volume", {{"volume", suspect.name()},
                                         {"group", suspect.group},
                                         {"namespace", suspect.spec.claim_namespace},
                                         {"size", to_string(suspect.size)}});
  say_on_node(kube::EventType::kWarning, kOrphaned,
              concat(place_text(suspect, parts_.node.name), " has no PersistentVolume", advice));
}

// Told once for each cause: it is tried again after every look.
void OrphanCollector::report_failure(const Suspect& suspect, const Error& why) {
  std::string& told = troubles_[suspect.place()];
  if (why.code() == ErrorCode::kCancelled || told == why.message()) return;
  told = why.message();
  parts_.log.warning("orphaned volume not removed",
                     {{"volume", suspect.name()}, {"error", why.message()}});
  say_on_node(kube::EventType::kWarning, kOrphaned,
              concat(place_text(suspect, parts_.node.name), " is not removed: ", why.message()));
}

void OrphanCollector::say_on_node(kube::EventType type, std::string_view reason,
                                  const std::string& message) {
  parts_.events.record({reference_to(parts_.node), type, std::string(reason), message});
}

}  // namespace flexlocal::provisioner
