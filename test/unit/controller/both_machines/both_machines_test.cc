// The controller's decisions and the agents' together, as the daemons' own code makes them, in
// every order in which requests, watches, crashes, pods and people may come.
//
// What is explored: one claim, which may be deleted at any time and made again; two hosts; at most
// two VolumeCopies at a time, whose ids are never used again; what each side knows may be any
// earlier version of the objects. A request may be under way for as long as one likes after its
// sender has given it up. Each agent works on one copy at a time, and a file system is made in one
// step: what a kill leaves of it is for test/node/every-step.bats.
//
// What must hold: no empty volume is mounted where a pod of the claim had another; no data is
// removed whose claim is there, or that is to be retained; no two hosts have it mounted; and once
// nothing goes wrong any more, the claim has its volume, or somebody is told why not, or all that
// was of it is gone.
#include <doctest/doctest.h>

#include "test/unit/controller/both_machines/search.h"

namespace flexlocal::provisioner::test {
namespace {

// A model that explores nothing finds nothing.
void check(const Rules& rules, std::size_t least) {
  const Search found = explore(rules);
  CHECK(found.violation == "");
  CHECK(found.worlds > least);
}

TEST_CASE("one host, one fault: whatever comes first, no data is lost and nothing stays unsaid") {
  check({.hosts = 1, .faults = 1, .silences = 0, .refusals = 0}, 600'000);
}

TEST_CASE("two hosts, a refusal and a silence: the claim always gets its volume") {
  check({.hosts = 2, .faults = 0, .silences = 1, .refusals = 1}, 600'000);
}

TEST_CASE("a request that arrives late does no harm, for it names the version that it is of") {
  check({.hosts = 1, .claim_ends = false, .only_late = true}, 100'000);
  check({.hosts = 2, .silences = 0, .claim_ends = false, .only_late = true}, 200'000);
}

TEST_CASE("data that its policy retains is kept, whatever comes first") {
  check({.hosts = 1, .silences = 0, .refusals = 0, .retains = true}, 80'000);
}

TEST_CASE("a promise that cannot be kept is given up where no pod had it") {
  check({.hosts = 2, .faults = 0, .silences = 0, .gives_up = true}, 150'000);
}

TEST_CASE("nor where its PersistentVolume comes late, or whatever else goes wrong") {
  check({.hosts = 1, .silences = 0, .claim_ends = false, .gives_up = true}, 150'000);
  check({.hosts = 2, .silences = 0, .claim_ends = false, .only_late = true, .gives_up = true},
        500'000);
}

}  // namespace
}  // namespace flexlocal::provisioner::test
