#include "provisioner/controller/view/roll_caller.h"

#include <algorithm>
#include <utility>

#include "flexvolume/base/text.h"

namespace flexlocal::provisioner {
namespace {

// Of the nodes that are waited for so many are named.
constexpr std::size_t kMostNamed = 3;
// Every claim that waits asks.
constexpr auto kCheckInterval = std::chrono::milliseconds(200);

// Of a node without a Lease. What was restored may be older than the Lease, and than the label.
bool never_had_daemon(const NodeView& view, bool has_copies, bool put_back) {
  const bool shows_none = !has_copies && !view.node.ready_label;
  return shows_none && (!put_back || view.health.is_silent());
}

// The same, of one that had a daemon, or may have had one: it has as long to come as a Lease lasts.
bool may_be_late(const NodeView& view, bool has_copies, bool put_back) {
  return !view.health.is_silent() && (has_copies || put_back || view.node.ready_label == "true");
}

}  // namespace

RollCaller::RollCaller(const NodeCache& nodes, const CopyIndex& index, std::string own_node,
                       const Clock& clock, Log& log, bool& put_back)
    : nodes_(nodes),
      index_(index),
      own_node_(std::move(own_node)),
      clock_(clock),
      log_(log),
      put_back_(put_back) {
  index.copies().on_change([this](const std::string& name) {
    if (!goes_on_) return;
    if (const auto copy = index_.copies().get(name)) see_order(*copy);
  });
}

void RollCaller::begin(std::int64_t term) {
  // Whom it has heard already it need not hear again: the lists are the same.
  if (!goes_on_) {
    begun_ = clock_.now();
    agreed_.clear();
  }
  goes_on_ = true;
  over_ = false;
  next_check_ = clock_.now();
  term_ = term;
  was_put_back_ = was_put_back_ || put_back_;
  terms_.clear();
  index_.copies().for_each([this](const std::string&, const VolumeCopy& copy) { see_order(copy); });
  nodes_.beats().for_each([this](const std::string&, const NodeHeartbeat& beat) { heard(beat); });
}

// Each node's controller has terms of its own; a leader of all nodes has one sequence for all.
std::string RollCaller::orders_of(const std::string& node) const {
  return own_node_.empty() ? std::string() : node;
}

// What we wrote ourselves in this term says nothing of what the API server had before.
bool RollCaller::counts(const std::string& whose, std::int64_t term) const {
  return whose != orders_of(own_node_) || term < term_;
}

void RollCaller::see_order(const VolumeCopy& copy) {
  const std::string whose = orders_of(copy.agent);
  if (!copy.order || !counts(whose, copy.order->term)) return;
  Terms& terms = terms_[whose];
  terms.ordered = std::max(terms.ordered, copy.order->term);
}

bool RollCaller::shows_put_back() const {
  return was_put_back_ || std::ranges::any_of(terms_, [](const auto& entry) {
           return entry.second.followed > entry.second.ordered;
         });
}

// Orders change all the time: what the node saw is compared when it says so.
void RollCaller::heard(const NodeHeartbeat& beat) {
  if (!goes_on_ || !beat.report.roll || is_excused(nodes_, beat.node)) return;
  if (const std::string whose = orders_of(beat.node); counts(whose, beat.report.roll->term)) {
    Terms& terms = terms_[whose];
    terms.followed = std::max(terms.followed, beat.report.roll->term);
  }
  if (agrees(beat)) agreed_.insert(beat.node);
}

bool is_excused(const NodeCache& nodes, const std::string& name) {
  const Node* const node = nodes.get(name);
  if (node == nullptr) return true;
  const auto label = node->labels.find(std::string(kRollCallLabel));
  return label != node->labels.end() && label->second == kRollCallSkip;
}

bool RollCaller::agrees(const NodeHeartbeat& beat) const {
  const CopyRoll& roll = *beat.report.roll;
  const NodeHealth health = nodes_.health(beat.node);
  if (roll.cut || !health.has_lease || health.silent_for >= lasted()) return false;
  return roll.orders == digest_of(index_.names_seen_by(beat.node));
}

std::map<std::string, std::string> RollCaller::waited_for() const {
  std::map<std::string, std::string> waited;
  const RollState state{shows_put_back(), lasted()};
  nodes_.for_each([&](const std::string& name, const Node& node) {
    if (agreed_.contains(name)) return;
    const NodeView view = nodes_.view_of(node);
    const bool has_copies = !index_.names_seen_by(name).empty();
    if (view.beat == nullptr && never_had_daemon(view, has_copies, state.put_back)) return;
    RollEntry entry;
    entry.has_beaten = view.health.has_lease && view.health.silent_for < lasted();
    // Of a node that is not Ready a Lease that was seen just now may be long out of date.
    entry.runs = view.beat == nullptr
                     ? may_be_late(view, has_copies, state.put_back)
                     : view.health.daemon_runs() && (node.ready || entry.has_beaten);
    entry.excused = is_excused(nodes_, name);
    entry.tells = view.carries_out();
    if (auto why = missing_in_roll(entry, state)) waited.emplace(name, std::move(*why));
  });
  return waited;
}

bool RollCaller::is_over() {
  const auto now = clock_.now();
  if (over_ || !goes_on_ || now < next_check_) return over_;
  next_check_ = now + kCheckInterval;
  waited_ = waited_for();
  if (!waited_.empty()) return false;
  over_ = true;
  goes_on_ = false;
  put_back_ = false;
  agreed_.clear();
  log_.info("all nodes have said which volumes they have: new ones are ordered");
  return true;
}

std::string RollCaller::words() const {
  if (waited_.empty()) return {};
  std::vector<std::string> some;
  for (const auto& [node, why] : waited_) {
    if (some.size() == kMostNamed) break;
    some.push_back(concat("node ", node, ' ', why));
  }
  std::string text = join(some, "; ");
  if (waited_.size() > some.size()) text += concat("; and ", waited_.size() - some.size(), " more");
  return concat(text, shows_put_back() ? ". The API server was put back to an earlier state" : "",
                ". A node that will not answer is passed over with: kubectl label node ",
                waited_.begin()->first, ' ', kRollCallLabel, '=', kRollCallSkip);
}

}  // namespace flexlocal::provisioner
