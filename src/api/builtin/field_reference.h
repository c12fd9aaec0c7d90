// api/builtin/field_reference.h - what a variable or a file may show of its own pod: fields, and
// amounts of resources.
#pragma once

#include "api/builtin/validation.h"

namespace muster::api {

/// Who shows it: a variable of a container, or a file of a volume.
enum class ShownIn { variable, file };

/// Checks a `fieldRef`, in kube-apiserver's order and words. `path` is the reference's.
void check_field_reference(const Value& reference, ShownIn where, const Path& path,
                           FieldErrors& errors);

/// Checks a `resourceFieldRef` alike.
void check_resource_reference(const Value& reference, ShownIn where, const Path& path,
                              FieldErrors& errors);

}  // namespace muster::api
