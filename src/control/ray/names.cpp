// control/ray/names.cpp - derived names of Ray objects.
#include "control/ray/names.h"

#include <charconv>
#include <utility>

namespace muster::control::ray {

std::string head_service_name(const api::Value& cluster) {
    const std::string given = cluster.path("spec.headGroupSpec.headService.metadata.name").text();
    return given.empty() ? cluster["metadata"]["name"].text() + "-head-svc" : given;
}

std::string head_service_host(const api::Value& cluster) {
    return head_service_name(cluster) + "." + cluster["metadata"]["namespace"].text() +
           ".svc.cluster.local";
}

bool is_ray_at_least(std::string_view version, int major, int minor) {
    int has_major = 0;
    int has_minor = 0;
    const char* end = version.data() + version.size();
    const auto first = std::from_chars(version.data(), end, has_major);
    if (first.ptr != end && *first.ptr == '.') std::from_chars(first.ptr + 1, end, has_minor);
    return std::pair(has_major, has_minor) >= std::pair(major, minor);
}

bool is_managed_here(const api::Value& object) {
    const std::string_view manager = object["spec"]["managedBy"].text_or("");
    return manager.empty() || manager == "ray.io/kuberay-operator";
}

}  // namespace muster::control::ray
