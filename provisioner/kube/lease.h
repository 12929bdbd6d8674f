// coordination.k8s.io/v1 Lease: who holds something, and the sign of life that they give.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/kube/api.h"

namespace flexlocal::kube {

// The object that another goes with when it is deleted.
struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
};

struct Lease {
  std::string namespace_name;
  std::string name;
  std::string resource_version;  // of the reading; empty: none yet
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  std::vector<OwnerReference> owners{};
  std::string holder{};  // empty: nobody
  std::chrono::seconds duration{0};
  std::optional<Clock::Wall> acquired{};
  std::optional<Clock::Wall> renewed{};
  std::int64_t transitions = 0;
};

// Somebody else may have written it: what is malformed reads as absent, and a duration is taken as
// no longer than this.
inline constexpr std::chrono::seconds kLongestLease = std::chrono::hours(1);
Lease decode_lease(JsonView object);

std::string encode_lease(const Lease& lease);

// What to write as `renewed`: now, but always later than what is there. Others notice a renewal by
// its change; with a clock that stands still, or is set back, there would be none: the API server
// does not even store an object that is the same.
Clock::Wall next_renewal(const Lease& lease, Clock::Wall now);

// One Lease of the API server's.
class LeaseClient {
 public:
  LeaseClient(ApiClient& api, std::string namespace_name, std::string name)
      : api_(api), namespace_(std::move(namespace_name)), name_(std::move(name)) {}

  // kNotFound when there is none.
  Task<Result<Lease>> read();
  // By this client's name, whatever `lease` says. kExists when somebody was faster. The answers are
  // as the server has it now.
  Task<Result<Lease>> create(const Lease& lease);
  // kConflict unless it still has the version that `lease` was read at.
  Task<Result<Lease>> update(const Lease& lease);

  const std::string& name() const { return name_; }

 private:
  std::string path(std::string_view name) const;

  ApiClient& api_;
  std::string namespace_;
  std::string name_;
};

}  // namespace flexlocal::kube
