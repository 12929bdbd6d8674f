#include "provisioner/agent/copy_plan.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>

#include "flexvolume/base/text.h"
#include "test/unit/objects/samples.h"

namespace flexlocal::provisioner::test {
namespace {

// Short, for they are compared millions of times; what they look like is no matter of the plan's.
const std::string kThis = "this";
const std::string kThat = "that";
const std::string kObject = "object";
const std::string kOther = "other";
const std::string kShop = "shop";

constexpr std::array kRecords = {
    RecordStage::kNone,  RecordStage::kDamaged, RecordStage::kPromised, RecordStage::kMaking,
    RecordStage::kReady, RecordStage::kWiping,  RecordStage::kRefused};
constexpr std::array kDisks = {DiskStage::kUnseen, DiskStage::kNone,  DiskStage::kForeign,
                               DiskStage::kMaking, DiskStage::kReady, DiskStage::kWiping};
constexpr std::array kDesired = {DesiredState::kServing, DesiredState::kRetained,
                                 DesiredState::kRemoved};
constexpr std::array kOrigins = {Origin::kNew, Origin::kExisting, Origin::kReceived};
const AgentIdentity kSelf{kNode, "node", "cluster"};

// What can have been said of a copy: where it is, whether it was promised, and made.
struct Said {
  CopyState state;
  bool promised;
  bool made;
};
constexpr std::array<Said, 14> kSaid = {{{CopyState::kUnsaid, false, false},
                                         {CopyState::kPromised, true, false},
                                         {CopyState::kPromised, true, true},
                                         {CopyState::kReady, true, true},
                                         {CopyState::kRetained, true, false},
                                         {CopyState::kRetained, true, true},
                                         {CopyState::kRemoving, false, false},
                                         {CopyState::kRemoving, true, true},
                                         {CopyState::kRemoved, false, false},
                                         {CopyState::kRemoved, true, true},
                                         {CopyState::kRefused, false, false},
                                         {CopyState::kRefused, true, false},
                                         {CopyState::kLost, true, false},
                                         {CopyState::kLost, true, true}}};

// What of the pods that the record lets mount differs from the order.
enum class Differs { kNothing, kNamespace, kClaim, kMode, kClosed };

// Which order the host's record says.
enum class Followed { kThisOrder, kEarlierOrder, kLaterOrder, kAnotherObject };
constexpr std::array kFollowed = {Followed::kThisOrder, Followed::kEarlierOrder,
                                  Followed::kLaterOrder, Followed::kAnotherObject};

VolumeCopy sample_copy() {
  CopyOrder order(sample_spec().name);
  order.volume = sample_spec();
  order.volume.claim_namespace = kShop;
  order.volume.cluster_id = kSelf.cluster_id;
  order.node_uid = kSelf.node_uid;
  order.claim_uid = "claim";
  order.volume.copy = kThis;
  order.node = kNode;
  return VolumeCopy{.name = "copy",
                    .uid = kObject,
                    .resource_version = "7",
                    .generation = 5,
                    .deleting = false,
                    .order = order,
                    .status = {}};
}

struct Case {
  VolumeCopy copy = sample_copy();
  HostCopy host;
  bool fresh = true;
  bool in_doubt = false;

  CopyPlan plan() const { return plan_copy({&copy, fresh, in_doubt}, kSelf, host); }
  CopyOrder& order() { return *copy.order; }
  const CopyOrder& order() const { return *copy.order; }

  void says(CopyState state) {
    copy.status.state = state;
    copy.status.promised = is_of_promised(state);
    copy.status.made = state == CopyState::kReady;
  }
  // The record, as it follows the order now.
  void has(RecordStage record, const std::string& of = kThis) {
    host.record = record;
    host.record_copy = of;
    host.claim_uid = order().claim_uid;
    host.claim_namespace = kShop;
    host.access_mode = order().volume.access_mode;
    follows(Followed::kThisOrder);
  }
  void follows(Followed from) {
    host.order_uid = from == Followed::kAnotherObject ? kOther : kObject;
    host.order_generation = from == Followed::kLaterOrder     ? 6
                            : from == Followed::kEarlierOrder ? 4
                                                              : 5;
  }
  void has_disk(DiskStage disk, const std::string& of = kThis) {
    host.disk = disk;
    host.disk_copy = of;
    host.size = kGiB;
  }

  // Of what nobody promised, and of which the host has no record, nothing was made.
  bool is_untouched() const {
    return order().origin == Origin::kNew && !copy.status.promised && !copy.status.made &&
           !has_record();
  }
  // No claim may mount it, of whichever pods.
  bool is_closed() const { return host.claim_uid.empty() && host.claim_namespace == kShop; }
  bool has_record() const { return host.record != RecordStage::kNone; }
  bool is_begun() const {
    return host.record == RecordStage::kPromised || host.record == RecordStage::kMaking;
  }
  bool is_record_of_this() const { return has_record() && host.record_copy == kThis; }
  bool is_disk_ours() const {
    return host.disk == DiskStage::kMaking || host.disk == DiskStage::kReady ||
           host.disk == DiskStage::kWiping;
  }
  bool is_disk_of_this() const { return is_disk_ours() && host.disk_copy == kThis; }
  bool is_any_of_another() const {
    return (has_record() && !is_record_of_this()) || (is_disk_ours() && !is_disk_of_this());
  }
  bool is_rolled_back() const {
    return is_record_of_this() && host.order_uid == kObject && host.order_generation > 5;
  }
  bool lets_mount_as_ordered() const {
    return host.claim_namespace == kShop && host.claim_uid == order().claim_uid &&
           host.access_mode == order().volume.access_mode;
  }
  void lets_mount(Differs differs) {
    if (differs == Differs::kNamespace) host.claim_namespace = "bank";
    if (differs == Differs::kClaim) host.claim_uid = "another";
    if (differs == Differs::kClosed) host.claim_uid.clear();
    if (differs == Differs::kMode) host.access_mode = engine::AccessMode::kReadWriteOncePod;
  }
  bool wants(DesiredState desired) const { return order().desired == desired; }

  std::string text() const {
    return concat("desired ", static_cast<int>(order().desired), " origin ",
                  static_cast<int>(order().origin), " state ", static_cast<int>(copy.status.state),
                  " promised ", copy.status.promised ? 1 : 0, " made ", copy.status.made ? 1 : 0,
                  " fresh ", fresh ? 1 : 0, " doubt ", in_doubt ? 1 : 0, " record ",
                  static_cast<int>(host.record), " of ", host.record_copy, " by ", host.order_uid,
                  '/', host.order_generation, " of ", host.claim_namespace, " retained ",
                  host.retained ? 1 : 0, " disk ", static_cast<int>(host.disk), " of ",
                  host.disk_copy, " open ", host.open ? 1 : 0, " size ",
                  order().volume.size.count(), " hopeless ", host.hopeless ? 1 : 0);
  }
};

using Visit = std::function<void(const Case&)>;

void for_each_host(Case& one, const Visit& visit) {
  for (const RecordStage record : kRecords)
    for (const std::string* const record_copy : {&kThis, &kThat})
      for (const Followed from : kFollowed)
        for (const DiskStage disk : kDisks)
          for (const std::string* const disk_copy : {&kThis, &kThat})
            for (unsigned bits = 0; bits < 16; ++bits) {
              // What is not there is of no copy.
              const bool ours = disk >= DiskStage::kMaking;
              if (!ours && disk_copy == &kThat) continue;
              if (record == RecordStage::kNone &&
                  (record_copy == &kThat || from != Followed::kThisOrder))
                continue;
              one.has(record, *record_copy);
              one.follows(from);
              one.has_disk(disk, *disk_copy);
              one.host.retained = (bits & 1U) != 0;
              one.host.open = (bits & 2U) != 0;
              one.order().volume.size = (bits & 4U) != 0 ? Bytes(2 * kGiB.count()) : kGiB;
              one.host.hopeless = (bits & 4U) != 0;
              if ((bits & 8U) != 0)
                one.lets_mount(from == Followed::kThisOrder      ? Differs::kNamespace
                               : from == Followed::kEarlierOrder ? Differs::kClaim
                               : (bits & 4U) != 0                ? Differs::kMode
                                                                 : Differs::kClosed);
              visit(one);
            }
}

// Every order with every answer, as well as it may be known.
void for_each_order(const std::function<void(Case&)>& visit) {
  Case one;
  for (const DesiredState desired : kDesired)
    for (const Origin origin : kOrigins)
      for (const Said& said : kSaid)
        for (const auto& [fresh, in_doubt] :
             {std::pair(false, false), std::pair(true, false), std::pair(true, true)}) {
          one.order().desired = desired;
          one.order().origin = origin;
          one.copy.status.state = said.state;
          one.copy.status.promised = said.promised;
          one.copy.status.made = said.made;
          one.fresh = fresh;
          one.in_doubt = in_doubt;
          visit(one);
        }
}

struct Rule {
  const char* name;
  // Whether it is asked at all, and whether it holds then.
  bool (*asked)(const Case&, const CopyPlan&);
  bool (*holds)(const Case&, const CopyPlan&);
};

template <CopyAction action>
bool does(const Case&, const CopyPlan& plan) {
  return plan.action == action;
}
template <CopyState state>
bool is_called(const Case&, const CopyPlan& plan) {
  return plan.state == state && plan.trouble == CopyTrouble::kNone;
}

// Of itself it says nothing: that comes with what is decided next.
bool repeats_what_was_said(const CopyPlan& plan) {
  return plan.action == CopyAction::kReadAnew || plan.action == CopyAction::kTakeUp;
}

const Rule kRules[] = {
    {"a copy is promised only where nobody has, and nothing of it was ever said or is known",
     does<CopyAction::kPromise>,
     [](const Case& one, const CopyPlan&) {
       return one.order().origin == Origin::kNew && one.copy.status.state == CopyState::kUnsaid &&
              one.fresh && !one.in_doubt && one.wants(DesiredState::kServing) &&
              !one.has_record() && one.host.disk == DiskStage::kNone;
     }},
    {"nothing is removed but by an order that says so now, and never another copy's",
     does<CopyAction::kRemove>,
     [](const Case& one, const CopyPlan&) {
       return one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt && !one.host.open &&
              (one.is_record_of_this() || one.is_disk_of_this()) && !one.is_any_of_another() &&
              one.host.disk != DiskStage::kForeign && one.host.disk != DiskStage::kUnseen &&
              one.host.record != RecordStage::kDamaged;
     }},
    {"a copy is made only from its own record, once the API server knows, and never after it was",
     does<CopyAction::kMake>,
     [](const Case& one, const CopyPlan&) {
       return one.is_begun() && one.is_record_of_this() && one.copy.status.promised &&
              !one.host.retained && one.wants(DesiredState::kServing) && !one.is_any_of_another() &&
              one.host.disk != DiskStage::kForeign && one.host.disk != DiskStage::kWiping &&
              one.host.disk != DiskStage::kUnseen && one.copy.status.state != CopyState::kRefused &&
              (one.is_disk_of_this() || !one.copy.status.made);
     }},
    {"only what is ready by its tags is taken up, by an order that is sure",
     does<CopyAction::kTakeUp>,
     [](const Case& one, const CopyPlan&) {
       return !one.has_record() && one.is_disk_of_this() && one.host.disk == DiskStage::kReady &&
              !one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt;
     }},
    {"nobody may mount again but by an order that is sure", does<CopyAction::kRelease>,
     [](const Case& one, const CopyPlan&) {
       return one.fresh && !one.in_doubt && one.wants(DesiredState::kServing) &&
              one.is_record_of_this();
     }},
    {"only a promise of which nothing was made is given up", does<CopyAction::kGiveUp>,
     [](const Case& one, const CopyPlan&) {
       return one.host.record == RecordStage::kPromised && !one.is_disk_ours() &&
              !one.copy.status.made && !one.host.open && one.is_record_of_this();
     }},
    {"a record alone is taken away only where it says that nothing was made",
     does<CopyAction::kWithdraw>,
     [](const Case& one, const CopyPlan&) {
       return one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt &&
              one.is_record_of_this() && !one.is_disk_ours() &&
              (one.host.record == RecordStage::kPromised ||
               one.host.record == RecordStage::kRefused);
     }},
    {"a record is not given to other pods under those that have the volume",
     does<CopyAction::kRecord>,
     [](const Case& one, const CopyPlan&) {
       return one.is_record_of_this() && !one.is_any_of_another() &&
              (one.lets_mount_as_ordered() ||
               ((!one.host.open || one.is_closed()) && one.fresh && !one.in_doubt));
     }},
    {"an earlier order than the record's changes nothing, and is not passed over in silence",
     [](const Case& one, const CopyPlan&) { return one.is_rolled_back(); },
     [](const Case& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kReadAnew
                  ? !one.fresh
                  : plan.action == CopyAction::kNone && plan.trouble != CopyTrouble::kNone;
     }},
    {"the order of another object is read from the API server before it is followed",
     [](const Case& one, const CopyPlan&) {
       return one.is_record_of_this() && one.host.order_uid == kOther && !one.fresh;
     },
     [](const Case&, const CopyPlan& plan) {
       return plan.action == CopyAction::kReadAnew ||
              (plan.action == CopyAction::kNone && plan.trouble != CopyTrouble::kNone);
     }},
    {"what was just read from the API server is not asked for again",
     [](const Case& one, const CopyPlan&) { return one.fresh; },
     [](const Case&, const CopyPlan& plan) { return plan.action != CopyAction::kReadAnew; }},
    {"what was said to be here and is not is lost",
     [](const Case& one, const CopyPlan&) {
       const bool none = one.host.disk == DiskStage::kNone || one.host.disk == DiskStage::kForeign;
       const bool unknown = one.copy.status.promised && !one.has_record() &&
                            one.copy.status.state != CopyState::kRefused;
       const bool rolled_back = one.copy.status.made && one.is_begun() && one.is_record_of_this() &&
                                one.host.order_uid == kObject && !one.is_rolled_back();
       return none && (unknown || rolled_back) && !one.wants(DesiredState::kRemoved);
     },
     [](const Case&, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && plan.state == CopyState::kLost &&
              plan.trouble != CopyTrouble::kNone;
     }},
    {"a copy is ready only where record and disk say so, to the pods that the order says",
     is_called<CopyState::kReady>,
     [](const Case& one, const CopyPlan& plan) {
       if (repeats_what_was_said(plan)) return true;
       return one.host.record == RecordStage::kReady && one.is_record_of_this() &&
              one.is_disk_of_this() && one.host.disk != DiskStage::kWiping && !one.host.retained &&
              (one.lets_mount_as_ordered() || plan.action == CopyAction::kRecord ||
               plan.action == CopyAction::kRetain);
     }},
    {"a copy is called removed only where the order says so and nothing of it is here",
     is_called<CopyState::kRemoved>,
     [](const Case& one, const CopyPlan& plan) {
       if (repeats_what_was_said(plan)) return true;
       return one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt &&
              !one.is_record_of_this() && !one.is_disk_of_this() &&
              one.host.record != RecordStage::kDamaged &&
              (one.host.disk != DiskStage::kUnseen || one.is_untouched());
     }},
    {"where another copy has the place, nothing of it is touched",
     [](const Case& one, const CopyPlan&) { return one.is_any_of_another(); },
     [](const Case&, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone || plan.action == CopyAction::kReadAnew;
     }},
    {"where the disks are not to be seen, nothing is done or said anew of what may be there",
     [](const Case& one, const CopyPlan&) {
       return one.host.disk == DiskStage::kUnseen && !one.is_untouched();
     },
     [](const Case& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && plan.state == one.copy.status.state &&
              plan.trouble != CopyTrouble::kNone;
     }},
    {"a volume is closed to further pods only where it is to be removed for sure",
     does<CopyAction::kClose>,
     [](const Case& one, const CopyPlan&) {
       return one.wants(DesiredState::kRemoved) && one.fresh && !one.in_doubt &&
              one.is_record_of_this() && !one.is_any_of_another();
     }},
    {"what is not as it should be and is not being mended has a reason",
     [](const Case& one, const CopyPlan& plan) {
       return plan.action == CopyAction::kNone && one.fresh;
     },
     [](const Case& one, const CopyPlan& plan) {
       const bool as_ordered =
           (one.wants(DesiredState::kServing) && plan.state == CopyState::kReady) ||
           (one.wants(DesiredState::kRetained) && plan.state == CopyState::kRetained) ||
           (one.wants(DesiredState::kRemoved) && plan.state == CopyState::kRemoved);
       // The answer is on its way, and what follows waits for it.
       const bool answers = plan.state == CopyState::kPromised && !one.copy.status.promised;
       return plan.trouble != CopyTrouble::kNone || as_ordered || answers;
     }}};

TEST_CASE("what an agent does about every order, answer and host keeps the rules") {
  constexpr std::size_t kCount = std::size(kRules);
  std::array<std::size_t, kCount> asked{};
  std::array<std::string, kCount> broken{};
  std::size_t cases = 0;
  for_each_order([&](Case& order) {
    for_each_host(order, [&](const Case& one) {
      ++cases;
      const CopyPlan plan = one.plan();
      for (std::size_t i = 0; i < kCount; ++i) {
        if (!kRules[i].asked(one, plan)) continue;
        ++asked[i];
        if (broken[i].empty() && !kRules[i].holds(one, plan))
          broken[i] = concat(one.text(), " gives ", static_cast<int>(plan.action), ' ',
                             static_cast<int>(plan.state), ' ', static_cast<int>(plan.trouble));
      }
    });
  });
  CHECK(cases == 378U * 7056U);
  for (std::size_t i = 0; i < kCount; ++i) {
    CAPTURE(kRules[i].name);
    CHECK(asked[i] > 0);
    CHECK(broken[i] == "");
  }
}

TEST_CASE("what no order names, what is not understood and another node's is left as it is") {
  Case any;
  for_each_host(any, [](const Case& one) {
    if (plan_copy({nullptr, true, false}, kSelf, one.host) != CopyPlan()) FAIL(one.text());
    for (const AgentIdentity& other :
         {AgentIdentity{"node-b", "node", "cluster"}, AgentIdentity{kNode, "node", "clone"}})
      if (plan_copy({&one.copy, true, false}, other, one.host) !=
          CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kNotHere})
        FAIL(one.text());
  });
  any.says(CopyState::kUnknown);
  CHECK(any.plan() ==
        CopyPlan{CopyAction::kNone, CopyState::kUnknown, CopyTrouble::kNotUnderstood});
  any.says(CopyState::kReady);
  any.copy.order = Error(ErrorCode::kInvalid, "of a later version");
  CHECK(any.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady, CopyTrouble::kNotUnderstood});
}

// What an agent makes of a host by carrying out an action; the API server takes each answer.
void carry_out(const CopyPlan& plan, Case& one) {
  if (plan.action == CopyAction::kReadAnew) {
    one.fresh = true;
    return;
  }
  one.copy.status.state = plan.state;
  one.copy.status.promised = one.copy.status.promised || is_of_promised(plan.state);
  one.copy.status.made = one.copy.status.made || plan.state == CopyState::kReady;
  switch (plan.action) {
    case CopyAction::kPromise:
      one.has(RecordStage::kPromised);
      break;
    case CopyAction::kTakeUp:
      one.has(RecordStage::kReady);
      one.host.retained = one.wants(DesiredState::kRetained);
      one.host.claim_uid.clear();  // tags do not say it, nor whose order it was
      one.host.order_uid.clear();
      break;
    case CopyAction::kClose:
      one.host.claim_uid.clear();
      break;
    case CopyAction::kRecord:
      one.has(one.host.record);
      break;
    case CopyAction::kMake:
      one.has(RecordStage::kReady);
      one.has_disk(DiskStage::kReady);
      one.host.size = one.order().volume.size;
      break;
    case CopyAction::kGrow:
      one.host.size = one.order().volume.size;
      break;
    case CopyAction::kRetain:
    case CopyAction::kRelease:
      one.host.retained = plan.action == CopyAction::kRetain;
      break;
    case CopyAction::kRemove:
      one.has(RecordStage::kNone);
      one.has_disk(DiskStage::kNone);
      break;
    case CopyAction::kWithdraw:
      one.has(RecordStage::kNone);
      break;
    case CopyAction::kGiveUp:
      one.has(RecordStage::kRefused);
      break;
    case CopyAction::kNone:
    case CopyAction::kReadAnew:
      break;
  }
}

TEST_CASE("carried out step by step, no order goes round in a circle") {
  constexpr int kMostSteps = 10;
  std::string endless;
  for_each_order([&](Case& order) {
    if (order.fresh) return;  // it is read anew on the way
    for_each_host(order, [&](const Case& begin) {
      if (!endless.empty()) return;
      Case one = begin;
      for (int steps = 0; steps < kMostSteps; ++steps) {
        const CopyPlan plan = one.plan();
        const CopyStatus before = one.copy.status;
        carry_out(plan, one);
        if (plan.action == CopyAction::kNone && one.copy.status == before) return;
      }
      endless = begin.text();
    });
  });
  CHECK(endless == "");
}

TEST_CASE("the way of a claim's volume") {
  Case one;
  one.fresh = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kReadAnew, CopyState::kUnsaid});
  one.fresh = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kPromise, CopyState::kUnsaid});
  one.has(RecordStage::kPromised);
  one.fresh = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kPromised});
  one.says(CopyState::kPromised);
  CHECK(one.plan() == CopyPlan{CopyAction::kMake, CopyState::kPromised});
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
  one.order().volume.size = Bytes(2 * kGiB.count());
  CHECK(one.plan() == CopyPlan{CopyAction::kGrow, CopyState::kReady});
  one.order().volume.size = Bytes(kGiB.count() / 2);  // an order never shrinks what is there
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
}

TEST_CASE("the end of a volume, kept first and then removed") {
  Case one;
  one.says(CopyState::kReady);
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.fresh = false;
  one.order().desired = DesiredState::kRetained;
  CHECK(one.plan() == CopyPlan{CopyAction::kRetain, CopyState::kReady});
  one.host.retained = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRetained});
  one.order().desired = DesiredState::kRemoved;
  CHECK(one.plan() == CopyPlan{CopyAction::kReadAnew, CopyState::kReady});
  one.fresh = true;
  one.host.open = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kClose, CopyState::kReady});
  one.host.claim_uid.clear();
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady, CopyTrouble::kBusy});
  one.host.open = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kRemove, CopyState::kRemoving});
  one.has(RecordStage::kWiping);
  CHECK(one.plan() == CopyPlan{CopyAction::kRemove, CopyState::kRemoving});
  one.has(RecordStage::kNone);
  one.has_disk(DiskStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

TEST_CASE(
    "a retained volume is served to the claim of another namespace, once nobody has it open") {
  Case one;
  one.says(CopyState::kRetained);
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kReady);
  one.host.retained = true;
  one.host.claim_namespace = "bank";
  one.host.open = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRetained, CopyTrouble::kBusy});
  one.host.open = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kRecord, CopyState::kRetained});
  one.has(RecordStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kRelease, CopyState::kRetained});
  one.host.retained = false;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kReady});
}

TEST_CASE("a host that lost one of its disks") {
  Case one;
  one.says(CopyState::kReady);
  // The root disk alone: the tags speak for the volume, and its data is there.
  one.has_disk(DiskStage::kReady);
  CHECK(one.plan() == CopyPlan{CopyAction::kTakeUp, CopyState::kReady});
  // The data disk alone.
  one.has(RecordStage::kReady);
  one.has_disk(DiskStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  // The data disk, and a root disk of the time of the promise.
  for (const RecordStage record : {RecordStage::kPromised, RecordStage::kMaking}) {
    one.has(record);
    CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  }
  // The same with a stranger in its place, and of one that was kept.
  one.has_disk(DiskStage::kForeign);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kForeign});
  one.has_disk(DiskStage::kNone);
  one.says(CopyState::kRetained);
  one.copy.status.made = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
  // Both, after etcd was put back to before the promise was said and the loss was told.
  one.says(CopyState::kLost);
  one.has(RecordStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kLost, CopyTrouble::kGone});
}

TEST_CASE("a promise that cannot be kept is given up, and withdrawn when that is ordered") {
  Case one;
  one.says(CopyState::kPromised);
  one.has(RecordStage::kPromised);
  one.host.hopeless = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kGiveUp, CopyState::kPromised});
  one.has(RecordStage::kRefused);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused});
  one.order().desired = DesiredState::kRemoved;
  one.has_disk(DiskStage::kForeign);  // what took its name is none of ours, and stays
  CHECK(one.plan() == CopyPlan{CopyAction::kWithdraw, CopyState::kRemoving});
  one.has(RecordStage::kNone);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

TEST_CASE("nothing is promised on a Node that was made anew, nor for an object that goes") {
  Case one;
  one.order().node_uid = "earlier";
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kNotHere});
  one.order().node_uid = kSelf.node_uid;
  one.copy.deleting = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kDeleting});
}

TEST_CASE("what was refused is not promised later, and what is in doubt not now") {
  Case one;
  one.in_doubt = true;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kUnsaid, CopyTrouble::kInDoubt});
  one.in_doubt = false;
  one.says(CopyState::kRefused);
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRefused, CopyTrouble::kRefused});
  one.order().desired = DesiredState::kRemoved;
  CHECK(one.plan() == CopyPlan{CopyAction::kNone, CopyState::kRemoved});
}

}  // namespace
}  // namespace flexlocal::provisioner::test
