#include "provisioner/kube/list_intake.h"

#include "flexvolume/base/text.h"
#include "provisioner/kube/object_filter.h"

namespace flexlocal::kube {

Status ListIntake::take(std::string_view item) {
  std::string_view needed = item;
  if (const auto head = scan_object(item)) {
    if (!concerns_us(item, *head, kind_, sink_)) return {};
    needed = without_managed_fields(item, *head, room_);
  }
  const auto parsed = JsonDocument::parse(needed);
  if (!parsed)
    return Error(ErrorCode::kCorrupt, concat("reading a list: ", parsed.error().message()));
  sink_.listed(parsed->root());
  return {};
}

}  // namespace flexlocal::kube
