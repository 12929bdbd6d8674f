// The orders there are, found by volume and by node: the controller's own words, and what the
// nodes answered.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "flexvolume/base/clock.h"
#include "provisioner/controller/claims/room_summary.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner {

class CopyIndex {
 public:
  // To be made before `copies` takes anything in, and to be kept as long as it does.
  CopyIndex(kube::Informer<VolumeCopy>& copies, const Clock& clock);
  CopyIndex(const CopyIndex&) = delete;
  CopyIndex& operator=(const CopyIndex&) = delete;

  // See Informer.
  kube::Informer<VolumeCopy>& copies() const { return copies_; }

  // Of that volume, whatever is ordered of them.
  std::vector<KnownCopy> of_volume(const std::string& volume) const;
  // Their names.
  std::vector<std::string> names_of(const std::string& volume) const;
  // Of those that a node's agent sees, in no order: by their label, and not by what they order.
  std::vector<std::string> names_seen_by(const std::string& node) const;

  // That copy of it; nullptr: there is none, or it is not understood.
  KnownCopy find(const std::string& volume, const std::string& copy) const;

  // One that holds back the claim "namespace/name"; nullptr: none does.
  KnownCopy holding(const std::string& claim) const;

  // Something of the volume may be on that node: an order names it that is not known to be removed.
  bool has_left_of(const std::string& volume, const std::string& node) const;

  // What was ordered of the node's pool and what the node's daemon says is free does not have yet.
  // A promise that is not said to be counted is taken for counted after two beats, for the daemon
  // may have been started since. What a volume grows by is not in it: its node judges that.
  Bytes uncounted(const NodeView& node, const std::string& pool);

  // An order was withdrawn there and the node has not said that nothing of it is left: whether it
  // made the volume nobody knows.
  bool has_open_withdrawal(const std::string& node) const;

  // For how long an order has been as it is, since this leader first saw it so.
  std::chrono::nanoseconds ordered_for(const VolumeCopy& copy) const;
  // For how long an order has been as it is without its node's answer; nullopt: it is answered. An
  // answer that says only what is in the way, and no state, is none yet.
  std::optional<std::chrono::nanoseconds> unanswered_for(const VolumeCopy& copy) const;
  // The same of the first of them that is to serve and is not answered; nullopt: there is none.
  std::optional<std::chrono::nanoseconds> unanswered_for(
      const std::vector<KnownCopy>& copies) const;

  // The highest term of an order that there is, or was; 0: there was none.
  std::int64_t highest_term() const { return highest_term_; }

 private:
  using Names = std::map<std::string, std::set<std::string>>;

  // Of every copy, tens of thousands.
  struct Known {
    std::int64_t generation = 0;
    Clock::Instant ordered{};            // when that generation was seen first
    const std::string* agent = nullptr;  // of by_agent_
    bool counted = false;                // see uncounted(): the node's figures have it, for good
  };
  // Of those that are not as they are to stay.
  struct Unsettled {
    std::string node, pool;
    Bytes size;  // as it was ordered first
    bool takes_room = false;
    bool withdrawn = false;  // see has_open_withdrawal()
    std::optional<Clock::Instant> promised{};
  };

  void look(const std::string& name);
  void put_on(const std::string& node, const std::string& name, Known& known);
  void index_order(const VolumeCopy& copy, Known& known);
  bool has_beaten_twice(const Unsettled& copy, const NodeView& node) const;
  void forget(const std::string& name);
  void settle(const std::string& name);
  void hold(const std::string& name, const std::string& claim);

  kube::Informer<VolumeCopy>& copies_;
  const Clock& clock_;
  std::map<std::string, Known> known_;                               // by name, and so by volume
  std::map<std::string, std::vector<const std::string*>> by_agent_;  // of known_
  std::map<std::string, Unsettled> unsettled_;
  std::map<std::string, std::string> holds_;  // the claim
  Names holding_;                             // by claim
  Names on_node_;                             // of unsettled_
  std::int64_t highest_term_ = 0;
};

}  // namespace flexlocal::provisioner
