// Whether new orders can be given: not before all nodes have said what they have.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "provisioner/kube/async.h"
#include "provisioner/objects/heartbeat_record.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

// For so long after a put-back was seen its consequences are expected.
inline constexpr std::chrono::hours kPutBackCounts{1};

class Roll {
 public:
  Roll() = default;
  Roll(const Roll&) = delete;
  Roll& operator=(const Roll&) = delete;
  virtual ~Roll() = default;

  // All lists are complete, and no order is of this term yet. Once more when a term has to begin
  // anew.
  virtual void begin(std::int64_t term) = 0;
  // After the beat was taken in.
  virtual void heard(const NodeHeartbeat& beat) = 0;

  // Whether new orders can be given.
  virtual bool is_over() = 0;
  // What keeps the claim from a new volume although it is over, in words: another node may have
  // its data. Empty: that is not known yet. nullopt: nothing, as far as it goes beyond the orders
  // that the asking controller has itself.
  virtual std::optional<std::string> elsewhere(const Claim& claim) = 0;
  // Before something new is ordered: kUnavailable where the API server shows by now that it was put
  // back, so that what is known of it does not hold.
  virtual kube::Task<Status> confirm() = 0;
  // Whom it waits for, as is_over() found last, in words; empty: nobody.
  virtual std::string words() const = 0;
  virtual std::chrono::nanoseconds lasted() const = 0;
  // Whether anything shows that the API server was put back.
  virtual bool shows_put_back() const = 0;
  // Whether what the API server has of earlier terms' orders may be of an earlier state.
  bool leaves_doubt() { return !is_over() || shows_put_back(); }
  // Whether the own Lease showed it, not long before this term: what nodes say does not count here.
  virtual bool was_put_back() const = 0;
};

}  // namespace flexlocal::provisioner
