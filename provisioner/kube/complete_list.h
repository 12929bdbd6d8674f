// All objects of a kind as the API server has them now: the whole list, or none.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "provisioner/kube/api.h"

namespace flexlocal::provisioner {

using kube::Task;

// Visits every object in the collection at `path` that the selectors leave, page by page. Anything
// but a list that was read to its end is an Error, and what was visited is then to be forgotten:
// kGone when it took the server too long (list again), kCorrupt when an answer is no list. An Error
// of `visit` ends it, too.
using Visit = std::function<Status(JsonView object)>;
Task<Status> visit_all(kube::ApiClient& api, const std::string& path, const kube::Query& selectors,
                       const Visit& visit);

// metadata.<field> of every object; errors as visit_all().
Task<Result<std::set<std::string>>> complete_list(kube::ApiClient& api, const std::string& path,
                                                  const std::string& label_selector,
                                                  const std::string& field);

}  // namespace flexlocal::provisioner
