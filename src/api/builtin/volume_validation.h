// api/builtin/volume_validation.h - what Kubernetes refuses in the volumes of a pod.
#pragma once

#include "api/builtin/validation.h"

namespace muster::api {

/// Checks a pod's `volumes`, in kube-apiserver's order and words. `path` is the list's.
void check_volumes(const Value& volumes, const Path& path, FieldErrors& errors);

}  // namespace muster::api
