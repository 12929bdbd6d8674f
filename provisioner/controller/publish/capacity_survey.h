// What all nodes tell of their room, for a node that ranks itself among them. It is listed when it
// is asked for and too old, never watched: with thousands of nodes it changes all the time, and
// mostly nobody needs it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/controller/ranking/immediate_rank.h"
#include "provisioner/kube/backoff.h"
#include "provisioner/kube/condition.h"
#include "provisioner/kube/informer.h"
#include "provisioner/objects/capacity_object.h"
#include "provisioner/objects/objects.h"
#include "provisioner/work/lasting_trouble.h"

namespace flexlocal::provisioner {

using kube::Task;

// The nodes' CSIStorageCapacity objects of a class.
struct ToldRooms {
  std::vector<RankCandidate> nodes;
  std::vector<std::string> hostnames;  // of each, all that its nodeTopology says
};

class CapacitySurvey {
 public:
  // A list is good for so long and up to twice that, by lot: nodes do not all ask at once. A long
  // one is for longer: each of many nodes asks for all of them, and an API server has other things
  // to do.
  static constexpr std::chrono::seconds kGoodFor{10};
  static constexpr std::chrono::milliseconds kGoodForPerObject{400};

  using OnDone = std::function<void()>;
  // `namespace_name`: of the objects. `done`: there is a new list.
  CapacitySurvey(kube::ApiClient& api, kube::Informer<StorageClass>& classes,
                 std::string namespace_name, const Clock& clock, Log& log, OnDone done);

  // Until its task is told to stop; to be called when the classes are known. Failures are logged
  // once each and tried again. The first list is asked for at once, so that there is a last one to
  // wait by when claims come. It is too old for more: of daemons that begin together not all have
  // told yet.
  Task<void> run();

  // What is told for the class, to be used before the next co_await. nullptr: it is not known or
  // too old, and asked for now; the end of that is told by `done`.
  const ToldRooms* rooms_for(const std::string& storage_class);

  // The last list's, however old, and nothing is asked for; nullptr: there was none.
  const ToldRooms* last_rooms(const std::string& storage_class) const {
    const auto found = rooms_.find(storage_class);
    return found == rooms_.end() ? nullptr : &found->second;
  }

  // A list is asked for, and has not come yet.
  bool is_wanted() const { return wanted_; }

  // Lists at once.
  Task<Status> look();

 private:
  Task<Status> find_place();
  std::chrono::nanoseconds spread();

  kube::ApiClient& api_;
  kube::Informer<StorageClass>& classes_;
  const Clock& clock_;
  Log& log_;
  CapacityPlace place_;
  OnDone done_;
  kube::Random random_;
  std::map<std::string, ToldRooms> rooms_;  // by class
  std::size_t objects_ = 0;                 // in the last list
  Clock::Instant good_until_{};
  bool wanted_ = false;
  kube::Condition asked_;
  LastingTrouble trouble_;
};

}  // namespace flexlocal::provisioner
