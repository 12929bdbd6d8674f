// An API server in memory that keeps to what counts of the real one: names that are taken, versions
// and uids that must be named, generations of a spec, finalizers.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/kube/http.h"

namespace flexlocal::provisioner::test {

class ObjectServer {
 public:
  // Makes the object, or writes over it, whoever has it; returns it as it is read.
  std::string put(const std::string& path, const std::string& object);
  // The merge patch of somebody else.
  std::string patch(const std::string& path, const std::string& patch);
  // The object has an earlier version.
  void put_back(const std::string& path, const std::string& version);
  void erase(const std::string& path) { objects_.erase(path); }
  bool has(const std::string& path) const { return objects_.contains(path); }
  std::string text(const std::string& path) const { return objects_.at(path); }
  // All objects of a kind, as a list has them.
  using IsSelected = std::function<bool(const std::string& object)>;
  std::string list(const std::string& resource, const IsSelected& is_selected = {}) const;
  // Of all objects below a collection's path.
  std::vector<std::string> paths(const std::string& collection) const;

  kube::HttpResponse answer(const kube::HttpRequest& request);

  // What was asked, but for events: "POST volumecopies", "PATCH persistentvolumeclaims/status",
  // "LIST pods".
  std::vector<std::string> journal;
  std::vector<std::string> events;
  // How many objects were to be made by a dry run; those are not in the journal.
  int trials = 0;
  bool refuses_trials = false;  // by 400
  std::string unknown_state;    // of desired ones: a trial of an order to that is refused by 422
  // The journal, at once forgotten: "GET nodes, POST volumecopies".
  std::string done();
  int count(const std::string& entry) const;

  // The status of the next answers to such an entry, which change nothing.
  std::map<std::string, std::vector<int>> fails;
  // The next such request is carried out, and its answer lost.
  std::string loses_answer_of;
  // A field of VolumeCopies' spec that their CustomResourceDefinition does not know.
  std::string unknown_field;
  // The same from the next dry run on, which is answered as if it knew it.
  std::string unknown_after_trial;

 private:
  std::string list_where(const std::function<bool(const std::string& path)>& is_in) const;
  kube::HttpResponse try_create(const std::string& path, const std::string& object);
  kube::HttpResponse create(const std::string& collection, const std::string& object);
  kube::HttpResponse merge(const std::string& path, const std::string& patch);
  kube::HttpResponse remove(const std::string& path, const std::string& options);
  std::string pruned(const std::string& path, const std::string& object) const;
  std::string store(const std::string& path, const std::string& object);

  std::map<std::string, std::string> objects_;  // by path
  int versions_ = 2'000'000;
  int uids_ = 0;
};

}  // namespace flexlocal::provisioner::test
