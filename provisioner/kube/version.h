// An object's resourceVersion.
#pragma once

#include <cstdint>
#include <memory>
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
    else if (!text.empty())
      opaque_ = std::make_shared<const std::string>(text);
  }

  // An empty version is older than every number: nothing is known yet.
  bool newer_than(const ObjectVersion& other) const {
    if (opaque_ || other.opaque_) return false;
    return number_ > other.number_;
  }
  // Of two versions without a text nothing is known, so they are not the same.
  bool operator==(const ObjectVersion& other) const {
    if (opaque_ && other.opaque_) return *opaque_ == *other.opaque_;
    return number_ != 0 && !opaque_ && !other.opaque_ && number_ == other.number_;
  }

 private:
  std::uint64_t number_ = 0;
  std::shared_ptr<const std::string> opaque_;  // hardly ever: a store has one for each object
};

}  // namespace flexlocal::kube
