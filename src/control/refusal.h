// control/refusal.h - the answer of an admission hook that does not take a field.
#pragma once

#include <string>

#include "api/admission.h"

namespace muster::control {

/// Denies a field that would have to be ignored: 422 with the field, what is missing, and what to
/// do instead. `why` follows "PATH: not served by this version of Muster".
api::Admission refuse_field(const std::string& path, const std::string& why);

}  // namespace muster::control
