// What a reflector does with the objects that it reads.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/json.h"

namespace flexlocal::kube {

class ObjectSink {
 public:
  virtual ~ObjectSink() = default;

  // A list begins from its start; an unfinished one before it counts for nothing but the objects
  // that it brought.
  virtual void list_began() = 0;
  // One object of the list.
  virtual void listed(JsonView object) = 0;
  // One was deleted while a streaming list was on its way.
  virtual void unlisted(JsonView object) = 0;
  // The list is complete at `version`: what it did not name is gone.
  virtual void list_ended(std::string_view version) = 0;

  // The watch: an object was added or modified; one was deleted; nothing else happened up to
  // `version`.
  virtual void applied(JsonView object) = 0;
  virtual void removed(JsonView object) = 0;
  virtual void advanced(std::string_view version) = 0;

  // Whether there is an object of this key, as object_key() has it.
  virtual bool knows(const std::string& key) const = 0;
  // The same, in just that version.
  virtual bool has(const std::string& key, std::string_view version) const = 0;
};

}  // namespace flexlocal::kube
