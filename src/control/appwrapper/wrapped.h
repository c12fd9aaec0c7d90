// control/appwrapper/wrapped.h - which kinds may stand in an AppWrapper.
#pragma once

#include <vector>

#include "api/kind.h"

namespace muster::control::appwrapper {

/// All kinds that may be wrapped, as far as they are known by name.
std::vector<const api::Kind*> wrapped_kinds();

}  // namespace muster::control::appwrapper
