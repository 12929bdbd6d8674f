// An API server that keeps claims and PersistentVolumes, with the controllers that bind and release
// them, as a script for ScriptedServer. It tells all that happens in bad ways, drawn by lot: events
// twice and in the wrong order, answers and streams that end in the middle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "provisioner/kube/backoff.h"
#include "test/unit/kube/scripted_server.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {

// How many of a hundred answers have the fault.
struct Mischief {
  unsigned twice = 0;      // each event of a watch is told twice
  unsigned disorder = 0;   // neighbours among the events of a watch are exchanged
  unsigned truncated = 0;  // the JSON of a list, or of a watch, ends in the middle, HTTP in order
  bool streams = false;    // no fault: the server has streaming lists
  unsigned cut = 0;  // the answer to whatever it is does not arrive whole: what was asked is done
};

class SmallCluster {
 public:
  SmallCluster(Mischief mischief, std::uint64_t seed) : mischief_(mischief), random_(seed) {}

  kube::test::Reply answer(const kube::test::Seen& request);

  void add_claim(const std::string& uid);
  // Its volume is released.
  void drop_claim(const std::string& uid);

  // Every claim is bound, every volume is a claim's.
  bool is_right() const;
  std::size_t claims() const { return claims_.size(); }
  bool has_claim(const std::string& uid) const { return claims_.contains(uid); }
  // How often a PersistentVolume of this name was made.
  std::size_t made(const std::string& name) const;

 private:
  struct Event {
    unsigned long long version;
    std::string kind, type, object;
  };
  struct KeptClaim {
    Claim claim;
    unsigned long long version = 0;
  };
  struct KeptVolume {
    std::string body;  // as it was posted
    std::string phase;
    unsigned long long version = 0;
    bool deleting = false;
  };

  bool strikes(unsigned percent);
  std::vector<std::string> objects(const std::string& kind) const;
  kube::test::Reply list(const std::string& kind);
  kube::test::Reply watch(const std::string& kind, unsigned long long since);
  kube::test::Reply stream(const std::string& kind);
  kube::test::Reply create(const std::string& body);
  kube::test::Reply change(const std::string& method, const std::string& name,
                           const std::string& body);
  kube::test::Reply volume(const std::string& method, const std::string& name,
                           const std::string& body);
  bool exchange_neighbours(std::vector<std::string>& lines);
  void truncate(kube::test::Reply& reply);
  void bind(const std::string& uid);
  void tell(const std::string& kind, const std::string& type, const std::string& object);
  void tell_claim(const std::string& uid, const std::string& type);
  std::string tell_volume(const std::string& name, const std::string& type);
  std::string text_of(const KeptVolume& volume) const;

  Mischief mischief_;
  kube::Random random_;
  unsigned long long version_ = 1000;
  std::map<std::string, KeptClaim> claims_;    // by uid
  std::map<std::string, KeptVolume> volumes_;  // by name
  std::map<std::string, std::size_t> made_;
  std::vector<Event> history_;
};

}  // namespace flexlocal::provisioner::test
