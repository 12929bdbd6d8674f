// When to list, when to watch and when to wait: the decisions of a reflector, without any I/O.
// Source: k8s.io/client-go/tools/cache/reflector.go (ListAndWatch and its back-off)
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "provisioner/kube/api.h"
#include "provisioner/kube/backoff.h"

namespace flexlocal::kube {

// What a reflector follows.
struct ResourceKind {
  std::string name;  // for logs: "persistentvolumes"
  std::string path;  // of the collection, see object_path()
  std::string label_selector;
  std::string field_selector;
};

struct ReflectorOptions {
  // Objects a page; etcd is read page by page, so memory stays bounded.
  unsigned page = 500;
  // The server is asked to end a watch after a random time between this and twice this, so that
  // clients do not come back all at once.
  std::chrono::milliseconds watch = std::chrono::minutes(5);
  // Over the time asked for, a watch is given up on after this: the server does not answer.
  std::chrono::milliseconds grace = std::chrono::seconds(30);
  // Longest silence of a watch, zero: no limit. API servers send a bookmark about once a minute.
  std::chrono::milliseconds stall = std::chrono::minutes(3);
  // After a failure; with jitter, so up to twice this.
  BackoffOptions backoff{std::chrono::milliseconds(800), std::chrono::seconds(30)};
  std::uint64_t seed = 0;  // of the jitter; 0: a random one
};

struct ReflectorStep {
  enum class Kind { kListFromStart, kListOn, kWatch, kWait };
  Kind kind = Kind::kListFromStart;
  Query query;                            // of a list or watch
  ApiClient::WatchLimits watch_limits{};  // of a watch
  std::chrono::nanoseconds wait{};        // before asking for the next step
};

class Reflector {
 public:
  Reflector(const ResourceKind& kind, const ReflectorOptions& options);

  // What to do now. What came of it is told by the calls below, then next() is asked again.
  ReflectorStep next();

  // A page came; an empty token: it was the last one, and the list's version is where the watch
  // begins.
  void listed(std::string_view continue_token, std::string_view version);
  // kGone (the pages' snapshot was compacted): from the start, after a wait. Others: the same
  // page again after a wait.
  void list_failed(const Error& error);

  // The watch has delivered everything up to this version.
  void watched(std::string_view version);
  // How a watch ended. Success: resumed at once if it had brought anything or lasted, as servers
  // end watches in the ordinary course. kGone: a fresh list. Others: resumed after a wait.
  void watch_ended(const Status& status);

  const std::string& version() const { return version_; }
  bool has_synced() const { return synced_; }

 private:
  Query selectors() const;
  Query list_query() const;
  void wait_next();

  const ResourceKind& kind_;
  const ReflectorOptions& options_;
  Random random_;
  Backoff backoff_;
  bool listing_ = true;
  bool from_start_ = true;
  bool wait_first_ = false;
  bool progressed_ = false;  // the present watch has brought something
  bool synced_ = false;
  std::string continue_;
  std::string version_;
};

}  // namespace flexlocal::kube
