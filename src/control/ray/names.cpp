// control/ray/names.cpp - derived names of Ray objects.
#include "control/ray/names.h"

namespace muster::control::ray {

std::string head_service_name(std::string_view cluster) {
    return std::string(cluster) + "-head-svc";
}

std::string head_service_host(std::string_view cluster, std::string_view ns) {
    return head_service_name(cluster) + "." + std::string(ns) + ".svc.cluster.local";
}

bool is_managed_here(const api::Value& object) {
    const std::string_view manager = object["spec"]["managedBy"].text_or("");
    return manager.empty() || manager == "ray.io/kuberay-operator";
}

}  // namespace muster::control::ray
