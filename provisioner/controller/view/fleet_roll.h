// The roll call of a controller that gives the orders of one node. It follows that node alone, and
// reads of all others what they have before it orders anything new. When nobody asks any more the
// lists are dropped, but for which volumes and claims other nodes had something of: a claim that is
// among those makes it read them again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "provisioner/controller/view/roll_caller.h"
#include "provisioner/kube/condition.h"

namespace flexlocal::provisioner {

struct FleetRollOptions {
  std::string own_node;
  std::chrono::nanoseconds silence_interval;  // see SilenceCheck
  bool was_put_back = false;                  // the API server, not long ago
};

class FleetRoll final : public Roll {
 public:
  // For so long after somebody asked for it the lists are kept.
  static constexpr std::chrono::seconds kKept{30};

  // `own`: what this node's controller knows of it.
  FleetRoll(boost::asio::io_context& io, kube::ApiClient& api, const NodeCache& own,
            const Clock& clock, Log& log, FleetRollOptions options)
      : io_(io),
        api_(api),
        own_(own),
        clock_(clock),
        log_(log),
        options_(std::move(options)),
        started_(clock.now()) {}

  // Reads when it is asked, until its task is told to stop.
  Task<void> run();

  void begin(std::int64_t term) override;
  void heard(const NodeHeartbeat& /*beat*/) override {}

  bool is_over() override;
  std::optional<std::string> elsewhere(const Claim& claim) override;
  // By the node's Lease: a beat shows it, too, but only every 20 s.
  Task<Status> confirm() override;
  std::string words() const override;
  std::chrono::nanoseconds lasted() const override;
  bool shows_put_back() const override;
  bool was_put_back() const override {
    return options_.was_put_back && clock_.now() - started_ < kPutBackCounts;
  }

 private:
  struct Fleet;

  Task<bool> read();
  void look();
  void ask();
  bool is_needed() const;
  void remember();
  bool is_remembered(const Claim& claim) const;

  boost::asio::io_context& io_;
  kube::ApiClient& api_;
  const NodeCache& own_;
  const Clock& clock_;
  Log& log_;
  FleetRollOptions options_;
  std::int64_t term_ = 0;
  bool over_ = false;
  Clock::Instant started_;
  bool shows_put_back_ = false;  // as the last roll call found
  bool begun_ = false;
  Clock::Instant began_{};  // the reading
  Clock::Instant asked_{};
  kube::Condition asks_;
  Fleet* fleet_ = nullptr;                   // while it is read
  std::unordered_set<std::uint64_t> known_;  // by hash: volumes, and claims "namespace/name"
};

}  // namespace flexlocal::provisioner
