#include "test/unit/controller/both_machines/search.h"

#include <algorithm>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner::test {
namespace {

std::uint64_t hash_of(const World& world) {
  std::array<unsigned char, (sizeof(World) + 7) / 8 * 8> bytes{};
  std::memcpy(bytes.data(), &world, sizeof world);
  std::uint64_t hash = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

World first_world(const Rules& rules) {
  auto world = blank<World>();
  for (HostBits& host : world.hosts) host.disk = static_cast<unsigned>(DiskStage::kNone) & 7U;
  world.term = 1;
  world.retains = rules.retains ? 1 : 0;
  world.second_host = rules.hosts > 1 ? 1 : 0;
  world.claim.there = 1;
  world.claim.current = 1;
  world.volume.current = 1;
  world.known_claim = world.claim;
  world.known_volume = world.volume;
  world.left.faults = rules.faults & 3U;
  world.left.silences = rules.silences & 3U;
  world.left.refusals = rules.refusals & 3U;
  world.left.deletions = rules.claim_ends ? 1 : 0;
  world.left.rebirth = rules.claim_comes_again ? 1 : 0;
  recycle(world);
  return world;
}

std::string words_of(const char* what, unsigned who) {
  return who == kNobody ? std::string(what) : concat(what, " (", who + 1U, ')');
}

class Explorer {
 public:
  explicit Explorer(const Rules& rules) : rules_(rules), calm_(rules) {}

  Search run() {
    add(first_world(rules_), 0);
    for (std::size_t at = 0; at < seen_.size() && found_.violation.empty(); ++at) visit(at);
    found_.worlds = seen_.size();
    return found_;
  }

 private:
  void add(const World& world, std::size_t from) {
    if (seen_.put(world)) parents_.push_back(static_cast<std::uint32_t>(from));
  }

  void visit(std::size_t at) {
    const World world = seen_.at(at);
    if (const char* const trouble = calm_.trouble_after(world)) {
      found_.violation =
          concat(trouble, way_to(at), "\nThen nothing goes wrong any more:", calm_.way_from(world));
      return;
    }
    steps_.clear();
    add_all_steps(world, rules_, steps_);
    for (const Step& step : steps_.all()) {
      World next = step.world;
      recycle(next);
      if (step.violation != nullptr) {
        found_.violation = concat(step.violation, way_to(at), "\n  ", words_of(step.what, step.who),
                                  text_of(next));
        return;
      }
      add(next, at);
    }
  }

  std::string way_to(std::size_t at) const {
    std::vector<std::size_t> way;
    for (; at != 0; at = parents_[at]) way.push_back(at);
    std::reverse(way.begin(), way.end());
    std::string text = ":";
    std::size_t from = 0;
    for (const std::size_t to : way) {
      Steps steps;
      add_all_steps(seen_.at(from), rules_, steps);
      for (const Step& step : steps.all()) {
        World next = step.world;
        recycle(next);
        if (!same(next, seen_.at(to))) continue;
        text += concat("\n  ", words_of(step.what, step.who), text_of(next));
        break;
      }
      from = to;
    }
    return text;
  }

  Rules rules_;
  Calm calm_;
  Seen seen_;
  Steps steps_;
  std::vector<std::uint32_t> parents_;
  Search found_;
};

}  // namespace

std::size_t Seen::place_of(const World& world) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = hash_of(world) & mask;
  while (table_[place] != 0 && !same(worlds_[table_[place] - 1U], world))
    place = (place + 1) & mask;
  return place;
}

bool Seen::put(const World& world) {
  const std::size_t place = place_of(world);
  if (table_[place] != 0) return false;
  worlds_.push_back(world);
  table_[place] = static_cast<std::uint32_t>(worlds_.size());
  if (worlds_.size() * 2 > table_.size()) grow();
  return true;
}

void Seen::grow() {
  table_.assign(table_.size() * 4, 0);
  for (std::size_t number = 0; number < worlds_.size(); ++number)
    table_[place_of(worlds_[number])] = static_cast<std::uint32_t>(number + 1);
}

Search explore(const Rules& rules) { return Explorer(rules).run(); }

}  // namespace flexlocal::provisioner::test
