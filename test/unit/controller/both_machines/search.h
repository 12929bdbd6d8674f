// Every small world that can come about, breadth first, so that what is found wrong has the
// shortest way to it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "test/unit/controller/both_machines/steps.h"

namespace flexlocal::provisioner::test {

// Worlds that were seen, by their number.
class Seen {
 public:
  Seen() : table_(1U << 16U, 0) {}

  // Whether it is new.
  bool put(const World& world);
  bool has(const World& world) const { return table_[place_of(world)] != 0; }
  const World& at(std::size_t number) const { return worlds_[number]; }
  std::size_t size() const { return worlds_.size(); }

 private:
  std::size_t place_of(const World& world) const;
  void grow();

  std::vector<World> worlds_;
  std::vector<std::uint32_t> table_;  // number + 1; 0: free
};

// What becomes of a world in which nothing goes wrong any more and everybody hears of everything.
class Calm {
 public:
  explicit Calm(const Rules& rules) : rules_(rules) {}

  // nullptr: the claim is bound, or gone with all that was of it, or somebody is told why not.
  const char* trouble_after(const World& world);
  // The way there, in words.
  std::string way_from(const World& world) const;

 private:
  World calmed(const World& world) const;
  bool step(World& world, unsigned round, const char*& what, unsigned& who) const;
  bool time_passes(World& world, const char*& what, unsigned& who) const;
  bool pass_of_agent(World& world, unsigned node) const;
  bool first_of(const Steps& steps, World& world, const char*& what, unsigned& who) const;

  Rules rules_;
  Seen good_;
};

// What is wrong with what a calm world came to at last. `expect_served`: nothing went wrong before,
// so that no words will do: the claim has its volume, or is gone with all that was of it.
const char* trouble_in(const World& calm, bool expect_served);

struct Search {
  std::size_t worlds = 0;
  std::string violation{};  // empty: none; else what, and the way to it
};

Search explore(const Rules& rules);

// For traces.
std::string text_of(const World& world);

}  // namespace flexlocal::provisioner::test
