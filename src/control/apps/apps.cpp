// control/apps/apps.cpp - the list of the controllers of the group apps, and what they refuse.
#include "control/apps/apps.h"

#include "control/apps/pod_family.h"
#include "control/refusal.h"

namespace muster::control::apps {
namespace {

api::Admission refuse_claims(const api::AdmissionRequest& request) {
    if (request.kind->resource() != stateful_sets || !request.subresource.empty()) return {};
    if (request.operation == api::AdmissionRequest::Operation::remove) return {};
    if (request.object["spec"]["volumeClaimTemplates"].empty()) return {};
    return refuse_field("spec.volumeClaimTemplates",
                        ", which has no persistent volumes: use emptyDir or hostPath volumes in "
                        "the template");
}

}  // namespace

std::vector<Controller> apps_controllers() {
    return {replica_set_controller(), deployment_controller(), stateful_set_controller()};
}

api::AdmissionHook apps_admission() {
    return refuse_claims;
}

}  // namespace muster::control::apps
