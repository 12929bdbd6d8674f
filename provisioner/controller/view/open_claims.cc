#include "provisioner/controller/view/open_claims.h"

#include <utility>

namespace flexlocal::provisioner {

OpenClaims::OpenClaims(kube::Informer<Claim>& claims) : claims_(claims) {
  claims.on_change([this](const std::string& key) { look(key); });
}

void OpenClaims::look(const std::string& key) {
  const auto claim = claims_.get(key);
  if (claim == nullptr || !claim->volume_name.empty()) {
    open_.erase(key);
    return;
  }
  Wanted wanted{claim->storage_class, std::nullopt};
  if (const auto size = parse_quantity(claim->requested)) wanted.size = *size;
  open_.insert_or_assign(key, std::move(wanted));
}

std::vector<Bytes> OpenClaims::sizes_of(const std::string& storage_class) const {
  std::vector<Bytes> sizes;
  for (const auto& [key, wanted] : open_)
    if (wanted.size && wanted.storage_class == storage_class) sizes.push_back(*wanted.size);
  return sizes;
}

}  // namespace flexlocal::provisioner
