// api/kueue/admission_gates.h - who keeps an object out of the queue, as an annotation names them.
#pragma once

#include <string>
#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// Their names; none when it says nothing.
std::vector<std::string> admission_gates_of(const Value& object);

/// They are said when the object is made (`before` is null); later they can only let it go.
void check_admission_gates(const Value* before, const Value& now, std::vector<FieldError>& errors);

}  // namespace muster::api
