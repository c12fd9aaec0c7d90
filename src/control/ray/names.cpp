// control/ray/names.cpp - derived names of Ray objects.
#include "control/ray/names.h"

namespace muster::control::ray {

std::string head_service_name(const api::Value& cluster) {
    const std::string given = cluster.path("spec.headGroupSpec.headService.metadata.name").text();
    return given.empty() ? cluster["metadata"]["name"].text() + "-head-svc" : given;
}

std::string head_service_host(const api::Value& cluster) {
    return head_service_name(cluster) + "." + cluster["metadata"]["namespace"].text() +
           ".svc.cluster.local";
}

bool is_managed_here(const api::Value& object) {
    const std::string_view manager = object["spec"]["managedBy"].text_or("");
    return manager.empty() || manager == "ray.io/kuberay-operator";
}

}  // namespace muster::control::ray
