// Whether the API server kept what it was sent. One whose CustomResourceDefinition is older than
// this program drops the fields that it does not know, and says nothing of it.
#pragma once

#include "flexvolume/base/json.h"
#include "flexvolume/base/result.h"

namespace flexlocal::provisioner {

// `sent`: an object or a merge patch; `kept`: the object that the API server answered with. Every
// value that was sent must be there as it was sent, and what was sent as null must not; what the
// server has beside them is its own. kInvalid, naming the field and what to do.
Status check_kept(JsonView sent, JsonView kept);

}  // namespace flexlocal::provisioner
