// control/ray/names.h - the labels, annotations and derived names of KubeRay's objects.
#pragma once

#include <string>
#include <string_view>

#include "api/kind.h"
#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::ray {

inline const api::GroupResource clusters{"ray.io", "rayclusters"};
inline const api::GroupResource rayjobs{"ray.io", "rayjobs"};
inline const api::GroupResource pods{"", "pods"};
inline const api::GroupResource services{"", "services"};
inline const api::GroupResource secrets{"", "secrets"};
inline const api::GroupResource batch_jobs{"batch", "jobs"};

inline constexpr std::string_view cluster_label = "ray.io/cluster";
inline constexpr std::string_view node_type_label = "ray.io/node-type";
inline constexpr std::string_view group_label = "ray.io/group";
inline constexpr std::string_view head_group_name = "headgroup";
inline constexpr std::string_view originated_from_label = "ray.io/originated-from-cr-name";
inline constexpr std::string_view submission_mode_label = "ray.io/job-submission-mode";
inline constexpr std::string_view submitter_container = "ray-job-submitter";
/// A head that was ready once is not made anew: its job runs in it (SidecarMode).
inline constexpr std::string_view keep_lost_head_annotation =
    "ray.io/disable-provisioned-head-restart";
inline constexpr std::string_view kuberay_version = "v1.6.2";  // The behaviour that is followed.

/// What we inject may be polled every 0.2 s until its first success; the agent reads this pod
/// annotation: the names of the containers whose probes are ours, with commas.
inline constexpr std::string_view injected_probes_annotation = "muster.dev/injected-probes";

/// `CLUSTER-head-svc`, or the name that the spec gives its headService.
std::string head_service_name(const api::Value& cluster);
/// `CLUSTER-head-svc.NAMESPACE.svc.cluster.local`.
std::string head_service_host(const api::Value& cluster);

/// "2.53.0" is at least 2.53; what is no version is older than any.
bool is_ray_at_least(std::string_view version, int major, int minor);

/// True when the object is ours to reconcile by its `spec.managedBy`.
bool is_managed_here(const api::Value& object);

}  // namespace muster::control::ray
