// When it is to be published how large a volume a node can still make.
#pragma once

#include <functional>
#include <vector>

#include "flexvolume/base/bytes.h"

namespace flexlocal::provisioner {

// Whether `now` is to be published when `published` was before. What was taken always is, or claims
// would be sent to where there is no room. What has become free is when it is a hundredth of what
// there is, or when one of the claims that wait, which ask for these sizes, finds room by it.
bool needs_update(Bytes published, Bytes now, const std::function<std::vector<Bytes>()>& waiting);

}  // namespace flexlocal::provisioner
