// An API server that has VolumeCopies alone, and keeps to what counts of the real one: merge
// patches of the status, the version that they must name, generations of the spec.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "provisioner/kube/http.h"
#include "provisioner/objects/volume_copy.h"

namespace flexlocal::provisioner::test {

class CopyServer {
 public:
  explicit CopyServer(std::vector<std::string>& journal) : journal_(journal) {}

  // Makes the object, or gives it another spec.
  void order(const CopyOrder& order);
  // The same object, deleted and made anew; its status is gone.
  void make_anew(const CopyOrder& order);
  // Writes the status as an agent did before.
  void set_status(const std::string& name, const CopyStatus& status);
  // Somebody else writes: the version rises.
  void touch(const std::string& name) { ++objects_.at(name).version; }
  void erase(const std::string& name) { objects_.erase(name); }

  // The object as it is read.
  std::string text(const std::string& name) const;
  VolumeCopy copy(const std::string& name) const;
  // All objects, as a list has them.
  std::string list() const;

  // GET and the PATCH of a status; the journal has them as "GET" and "PATCH <state>".
  Result<kube::HttpResponse> answer(const kube::HttpRequest& request);

  // Fields of the status that its CustomResourceDefinition does not know.
  std::vector<std::string> unknown_fields;
  // In the text of every object that is read: a version that is newer than this program.
  std::string spec_from, spec_to;
  // Asked before each request; where it says no, there is no answer.
  std::function<bool()> alive = [] { return true; };
  // The next PATCH is carried out, and its answer lost.
  bool loses_answer = false;

 private:
  struct Object {
    std::string created;  // without uid and versions
    std::string uid;
    int version = 0;
    int generation = 1;
    std::string status = "{}";
  };

  kube::HttpResponse patch(Object& object, JsonView sent);

  std::vector<std::string>& journal_;
  std::map<std::string, Object> objects_;  // by name
  int uids_ = 0;
  int versions_ = 100;
};

}  // namespace flexlocal::provisioner::test
