// All objects of a kind as the API server has them now: the whole list, or none.
#pragma once

#include <set>
#include <string>

#include "provisioner/kube/api.h"

namespace flexlocal::provisioner {

using kube::Task;

// metadata.<field> of every object in the collection at `path`, page by page. Anything but a list
// that was read to its end is an Error: kGone when it took the server too long (list again),
// kCorrupt when an answer is no list.
Task<Result<std::set<std::string>>> complete_list(kube::ApiClient& api, const std::string& path,
                                                  const std::string& label_selector,
                                                  const std::string& field);

}  // namespace flexlocal::provisioner
