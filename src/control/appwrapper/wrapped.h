// control/appwrapper/wrapped.h - which kinds may stand in an AppWrapper.
#pragma once

#include <vector>

#include "api/kind.h"

namespace muster::control::appwrapper {

/// All kinds that may be wrapped, as far as they are known by name.
std::vector<const api::Kind*> wrapped_kinds();

/// Roles and their bindings: the controller makes what is wrapped with its own rights, so that a
/// wrapped one would give its author more than the author has.
bool gives_rights(const api::Kind& kind);
constexpr const char* gives_rights_fault =
    "an AppWrapper must not wrap roles or bindings, which are given by those who have the rights "
    "themselves; create them beside it";

}  // namespace muster::control::appwrapper
