// The claims without a volume: few beside those that have one, and all that wait for something.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "provisioner/kube/informer.h"
#include "provisioner/objects/objects.h"

namespace flexlocal::provisioner {

class OpenClaims {
 public:
  // To be made before `claims` takes anything in, and to be kept as long as it does.
  explicit OpenClaims(kube::Informer<Claim>& claims);
  OpenClaims(const OpenClaims&) = delete;
  OpenClaims& operator=(const OpenClaims&) = delete;

  // visit(key) for each; nothing may be taken in meanwhile.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, wanted] : open_) visit(key);
  }

  // What those of a class ask for; without those whose request cannot be read.
  std::vector<Bytes> sizes_of(const std::string& storage_class) const;

 private:
  struct Wanted {
    std::string storage_class;
    std::optional<Bytes> size;
  };

  void look(const std::string& key);

  kube::Informer<Claim>& claims_;
  std::map<std::string, Wanted> open_;
};

}  // namespace flexlocal::provisioner
