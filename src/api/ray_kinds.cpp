// api/ray_kinds.cpp - the kinds of KubeRay.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {

std::string_view ray_definitions() {
    return "";
}

std::vector<Kind> ray_kinds() {
    return {};
}

}  // namespace muster::api
