// api/builtin/field_reference.h - the fields of its own pod that a variable or a file may show.
#pragma once

#include "api/builtin/validation.h"

namespace muster::api {

/// Who shows it: a variable of a container, or a file of a volume.
enum class ShownIn { variable, file };

/// Checks a `fieldRef`, in kube-apiserver's order and words. `path` is the reference's.
void check_field_reference(const Value& reference, ShownIn where, const Path& path,
                           FieldErrors& errors);

}  // namespace muster::api
