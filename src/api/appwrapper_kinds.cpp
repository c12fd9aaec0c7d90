// api/appwrapper_kinds.cpp - AppWrapper of MCAD.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {

std::string_view appwrapper_definitions() {
    return "";
}

std::vector<Kind> appwrapper_kinds() {
    return {};
}

}  // namespace muster::api
