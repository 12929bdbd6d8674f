// Which bytes of an object a tree is made of, if of any.
#pragma once

#include <string>
#include <string_view>

#include "provisioner/kube/event_scan.h"
#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/reflector.h"

namespace flexlocal::kube {

// An object without a mark of its kind, which the store does not have either, changes nothing but
// the version; one that the store has may be one that concerns us no longer. Bytes that are written
// as \u.... could be a mark in disguise: then a tree is made.
bool concerns_us(std::string_view text, const EventHead& head, const ResourceKind& kind,
                 const ObjectSink& sink);

// The text without managedFields, which are half of many an object and of no use to anybody here;
// made in `room` if there are any. `head`: of this text.
std::string_view without_managed_fields(std::string_view text, const EventHead& head,
                                        std::string& room);

}  // namespace flexlocal::kube
