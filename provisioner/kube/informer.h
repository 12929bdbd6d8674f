// A copy of the API server's objects of one kind, kept up to date, with only what is needed of
// each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flexvolume/base/log.h"
#include "provisioner/kube/object_store.h"
#include "provisioner/kube/reflect.h"

namespace flexlocal::kube {

// T is the owner's own struct, kept packed if it is Packable. Everything runs on the one thread.
template <typename T>
class Informer {
 public:
  // What is needed of an object, or nullopt when it does not concern us: then it is not kept,
  // and one that was kept before counts as deleted.
  using Decode = std::function<std::optional<T>(JsonView object)>;
  // Called after the store has changed: added, updated or deleted. It must not wait and must not
  // throw: adding the key to a work queue is what it is for.
  using OnChange = std::function<void(const std::string& key)>;

  Informer(ApiClient& api, Log& log, ResourceKind kind, Decode decode,
           ReflectorOptions options = {})
      : store_(std::move(decode), on_change_),
        api_(api),
        log_(log),
        kind_(std::move(kind)),
        options_(options) {}

  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // One more of ResourceKind::marks, for what is read from now on.
  void add_mark(std::string mark) { kind_.marks.push_back(std::move(mark)); }

  // To be set before run().
  void on_change(OnChange handler) { on_change_.push_back(std::move(handler)); }

  // Lists, watches and begins again, whatever fails, until its task is told to stop. Once only.
  Task<void> run() { return reflect(api_, log_, kind_, options_, store_, stats_); }

  // Whether a complete list has been taken in. What get() does not find may exist before that.
  bool has_synced() const { return store_.has_synced(); }
  // Ends when has_synced(), or with kCancelled.
  Task<Status> wait_synced() { return store_.wait_synced(); }

  // Keys are "namespace/name", or "name" of cluster-scoped objects. See keeping.h for how long it
  // holds. nullptr: not there.
  Found<T> get(const std::string& key) const { return store_.get(key); }
  std::size_t size() const { return store_.size(); }
  const std::string& kind() const { return kind_.name; }
  const ReflectorStats& stats() const { return stats_; }

  // visit(key, object) for each, in no order; the store must not change meanwhile, and the object
  // holds until its visit ends.
  template <typename Visit>
  void for_each(Visit visit) const {
    store_.for_each(visit);
  }

  // Takes in the answer to a write of our own at once ("assumed"), so that the next decision sees
  // it before the watch brings it. Ignored when the store, or the watch, is already past that
  // version: then what came from there is newer, a deletion included. Versions are compared as
  // numbers when both are (all of etcd's are); otherwise as "not newer", and the watch decides.
  void put(JsonView answer) { store_.put(answer); }

 private:
  std::vector<OnChange> on_change_;
  ObjectStore<T> store_;
  ApiClient& api_;
  Log& log_;
  ResourceKind kind_;
  ReflectorOptions options_;
  ReflectorStats stats_;
};

}  // namespace flexlocal::kube
