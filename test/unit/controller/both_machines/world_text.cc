// A small world in words, for whoever reads a trace.
#include "flexvolume/base/text.h"
#include "test/unit/controller/both_machines/search.h"

namespace flexlocal::provisioner::test {
namespace {

constexpr std::array kDesired = {"Serving", "Retained", "Removed", "Withdrawn"};
constexpr std::array kStates = {"-",       "Promised", "Ready", "Retained", "Removing",
                                "Removed", "Refused",  "Lost",  "Unknown"};
constexpr std::array kRecords = {"none",  "damaged", "promised", "making",
                                 "ready", "wiping",  "refused"};
constexpr std::array kDisks = {"unseen", "none", "foreign", "making", "ready", "wiping"};
constexpr std::array kPhases = {"Available", "Bound", "Released"};

const char* flag(bool on, const char* text) { return on ? text : ""; }

std::string text_of(const CopyBits& copy) {
  if (copy.there == 0) return "absent";
  return concat(kDesired[copy.desired], flag(copy.existing != 0, " Existing"), " on ",
                copy.node + 1U, " #", copy.uid, '/', copy.generation, ": ", kStates[copy.state],
                flag(copy.promised != 0, " promised"), flag(copy.made != 0, " made"),
                flag(copy.used != 0, " used"), " of ", copy.observed,
                flag(copy.trouble != 0, " in trouble"), flag(copy.given_up != 0, " given up"),
                flag(copy.current == 0, " (old)"));
}

std::string text_of(const VolumeBits& volume) {
  if (volume.there == 0) return "absent";
  return concat(kPhases[volume.phase], " copy ", volume.slot + 1U,
                flag(volume.deleting != 0, " deleting"), flag(volume.held == 0, " let go"));
}

std::string text_of(const ClaimBits& claim) {
  if (claim.there == 0) return "absent";
  return concat(flag(claim.anew != 0, "another "), "selected ", claim.selected,
                flag(claim.bound != 0, " bound"), flag(claim.deleting != 0, " deleting"));
}

std::string text_of(const HostBits& host) {
  return concat(kRecords[host.record], " of ", host.record_slot + 1U, " by #", host.order_uid, '/',
                host.order_generation, flag(host.claim == 0, " closed"),
                flag(host.retained != 0, " retained"), ", disk ", kDisks[host.disk], " of ",
                host.disk_slot + 1U, flag(host.data != 0, " with data"),
                flag(host.used == 0, " unused"), flag(host.open != 0, " open"));
}

}  // namespace

std::string text_of(const World& world) {
  std::string text =
      concat("\n      claim ", text_of(world.claim), "; PersistentVolume ", text_of(world.volume));
  for (unsigned slot = 0; slot < kSlots; ++slot)
    if (!is_free(world, slot))
      text += concat("\n      copy ", slot + 1U, ' ', text_of(world.copies[slot]),
                     "; controller: ", text_of(world.ordered[slot]),
                     "; agent: ", text_of(world.heard[slot]));
  for (unsigned node = 0; node < kHosts; ++node)
    if (world.hosts[node].record != 0 || world.hosts[node].disk != 1)
      text += concat("\n      host ", node + 1U, ' ', text_of(world.hosts[node]));
  for (unsigned node = 0; node < kHosts; ++node)
    if (world.turns[node].on != 0)
      text += concat("\n      pass ", node + 1U, " copy ", world.turns[node].slot + 1U, " fresh ",
                     world.turns[node].fresh, " todo ", world.turns[node].todo, ' ',
                     text_of(world.turns[node].copy));
  if (world.replacing.stage != 0)
    text += concat("\n      replacement by copy ", world.replacing.slot + 1U, " stage ",
                   world.replacing.stage);
  return text;
}

}  // namespace flexlocal::provisioner::test
