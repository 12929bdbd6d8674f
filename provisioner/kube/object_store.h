// The objects of one kind, by key: what an Informer keeps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "provisioner/kube/condition.h"
#include "provisioner/kube/keeping.h"
#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/version.h"

namespace flexlocal::kube {

// "namespace/name", or "name" of cluster-scoped objects; empty when there is no name.
std::string object_key(JsonView object);

// See Informer for what holds for its users. The invariant: an entry is never replaced or removed
// by news that is older than the entry itself.
template <typename T>
class ObjectStore final : public ObjectSink {
 public:
  using Decode = std::function<std::optional<T>(JsonView object)>;
  using Handlers = std::vector<std::function<void(const std::string& key)>>;

  ObjectStore(Decode decode, const Handlers& handlers)
      : decode_(std::move(decode)), handlers_(handlers) {}

  bool has_synced() const { return synced_; }

  Task<Status> wait_synced() {
    while (!synced_)
      if (auto waited = co_await synced_changed_.wait(); !waited) co_return waited;
    co_return Status();
  }

  Found<T> get(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : Keeping<T>::find(found->second.kept);
  }
  std::size_t size() const { return entries_.size(); }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, entry] : entries_) {
      const Found<T> found = Keeping<T>::find(entry.kept);
      visit(key, *found);
    }
  }

  void put(JsonView answer) {
    const ObjectVersion version = version_of(answer);
    // The watch has delivered everything up to version_, so it knows this write and what came
    // after it: taking it in now could bring back an object that is already deleted.
    if (version.newer_than(version_)) apply(answer, version);
  }

  void list_began() override { ++list_; }
  void listed(JsonView object) override {
    apply(object, version_of(object));
    const auto found = entries_.find(object_key(object));
    if (found != entries_.end()) found->second.list = list_;
  }
  void unlisted(JsonView object) override {
    const std::string key = object_key(object);
    const auto found = entries_.find(key);
    if (found != entries_.end()) found->second.list = 0;
    remove(key, version_of(object));
  }
  void list_ended(std::string_view version) override {
    version_ = ObjectVersion(version);
    remove_unlisted();
    synced_ = true;
    synced_changed_.notify_all();
  }
  void applied(JsonView object) override {
    const ObjectVersion version = version_of(object);
    apply(object, version);
    version_ = version;
  }
  void removed(JsonView object) override {
    const ObjectVersion version = version_of(object);
    remove(object_key(object), version);
    version_ = version;
  }
  void advanced(std::string_view version) override { version_ = ObjectVersion(version); }
  bool knows(const std::string& key) const override { return entries_.contains(key); }
  bool has(const std::string& key, std::string_view version) const override {
    const auto found = entries_.find(key);
    return found != entries_.end() && found->second.version == ObjectVersion(version);
  }

 private:
  struct Entry {
    typename Keeping<T>::Kept kept;
    ObjectVersion version;
    std::uint32_t list = 0;  // the last one that named it
  };

  static ObjectVersion version_of(JsonView object) {
    return ObjectVersion(object["metadata"]["resourceVersion"].text());
  }

  void apply(JsonView object, const ObjectVersion& version) {
    const std::string key = object_key(object);
    if (key.empty()) return;
    const auto found = entries_.find(key);
    if (found != entries_.end() &&
        (found->second.version == version || found->second.version.newer_than(version)))
      return;
    std::optional<T> decoded = decode_(object);
    if (!decoded) return remove(key, version);
    Entry entry{keeping_.keep(std::move(*decoded)), version};
    if (found != entries_.end()) {
      entry.list = found->second.list;
      found->second = std::move(entry);
    } else {
      entries_.emplace(key, std::move(entry));
    }
    notify(key);
  }

  void remove(const std::string& key, const ObjectVersion& version) {
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.version.newer_than(version)) return;
    entries_.erase(found);
    notify(key);
  }

  void remove_unlisted() {
    std::vector<std::string> gone;
    for (const auto& [key, entry] : entries_)
      if (entry.list != list_) gone.push_back(key);
    // An entry newer than the list is a write of our own, made while the list was being read.
    for (const std::string& key : gone) remove(key, version_);
  }

  void notify(const std::string& key) const {
    for (const auto& handler : handlers_) handler(key);
  }

  Decode decode_;
  const Handlers& handlers_;
  Keeping<T> keeping_;  // before the entries, which have its symbols
  std::unordered_map<std::string, Entry> entries_;
  std::uint32_t list_ = 0;  // counts the lists that were begun
  ObjectVersion version_;   // everything up to here is known
  bool synced_ = false;
  Condition synced_changed_;
};

}  // namespace flexlocal::kube
