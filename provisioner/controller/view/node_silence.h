// Why an order has no answer yet.
#pragma once

#include <string>

#include "provisioner/controller/view/copy_index.h"
#include "provisioner/controller/view/node_cache.h"

namespace flexlocal::provisioner {

// For a person: what keeps the node from answering the order. Empty: it has answered, or said what
// is in the way; there is time yet; or its Node is gone.
std::string silence_of(const NodeCache& nodes, const CopyIndex& index, const VolumeCopy& copy);

}  // namespace flexlocal::provisioner
