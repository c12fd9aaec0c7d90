// control/appwrapper/wrapped.cpp - what is in a namespace and made by people.
#include "control/appwrapper/wrapped.h"

#include "api/guest_kinds.h"

namespace muster::control::appwrapper {
namespace {

bool may_be_wrapped(const api::Kind& kind) {
    return kind.namespaced && kind.plural != "events" && kind.plural != "leases" &&
           kind.plural != "endpointslices" && kind.plural != "appwrappers" &&
           kind.group != "authorization.k8s.io" && !gives_rights(kind) && !kind.versions.empty();
}

}  // namespace

bool gives_rights(const api::Kind& kind) {
    return kind.group == "rbac.authorization.k8s.io";
}

std::vector<const api::Kind*> wrapped_kinds() {
    std::vector<const api::Kind*> kinds;
    for (const api::Kind& kind : api::all_kinds()) {
        if (may_be_wrapped(kind)) kinds.push_back(&kind);
    }
    for (const api::Kind& kind : api::guest_kinds()) {
        if (may_be_wrapped(kind)) kinds.push_back(&kind);
    }
    return kinds;
}

}  // namespace muster::control::appwrapper
