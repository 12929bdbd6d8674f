// An object's resourceVersion.
#pragma once

#include <string>
#include <string_view>

#include "flexvolume/base/text.h"

namespace flexlocal::kube {

// The API says that these are opaque. In fact they are etcd's revisions: one rising number for a
// whole kind. We rely on it only to tell "newer" from "older" of our own writes, and only when
// both are numbers; everything else goes by the order in which the watch tells it. Of two that
// are not both numbers neither is newer.
// Source: staging/src/k8s.io/apiserver/pkg/storage/etcd3/api_object_versioner.go
class ObjectVersion {
 public:
  ObjectVersion() = default;
  explicit ObjectVersion(std::string_view text) {
    unsigned long long number = 0;
    if (parse_number(text, UINT64_MAX - 1, number))
      number_ = number;
    else
      opaque_ = text;
  }

  // An empty version is older than every number: nothing is known yet.
  bool newer_than(const ObjectVersion& other) const {
    if (!opaque_.empty() || !other.opaque_.empty()) return false;
    return number_ > other.number_;
  }
  // Of two versions without a text nothing is known, so they are not the same.
  bool operator==(const ObjectVersion& other) const {
    if (number_ == 0 && opaque_.empty()) return false;
    return number_ == other.number_ && opaque_ == other.opaque_;
  }

 private:
  unsigned long long number_ = 0;
  std::string opaque_;
};

}  // namespace flexlocal::kube
