// Carries out what a Reflector decides.
#pragma once

#include "flexvolume/base/log.h"
#include "provisioner/kube/object_sink.h"
#include "provisioner/kube/reflector.h"

namespace flexlocal::kube {

// Keeps `sink` up to date with the objects of `kind` until the task is told to stop. Failures are
// logged here, once each, and tried again. All arguments must outlive the task.
Task<void> reflect(ApiClient& api, Log& log, const ResourceKind& kind,
                   const ReflectorOptions& options, ObjectSink& sink, ReflectorStats& stats);

}  // namespace flexlocal::kube
