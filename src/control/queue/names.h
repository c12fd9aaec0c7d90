// control/queue/names.h - the labels, annotations, finalizers and resources of Kueue's objects.
#pragma once

#include <string>
#include <string_view>

#include "api/kind.h"

namespace muster::control::queue {

inline const api::GroupResource workloads{"kueue.x-k8s.io", "workloads"};
inline const api::GroupResource cluster_queues{"kueue.x-k8s.io", "clusterqueues"};
inline const api::GroupResource local_queues{"kueue.x-k8s.io", "localqueues"};
inline const api::GroupResource cohorts{"kueue.x-k8s.io", "cohorts"};
inline const api::GroupResource topologies{"kueue.x-k8s.io", "topologies"};
inline const api::GroupResource admission_checks{"kueue.x-k8s.io", "admissionchecks"};
inline const api::GroupResource flavors{"kueue.x-k8s.io", "resourceflavors"};
inline const api::GroupResource workload_priority_classes{"kueue.x-k8s.io",
                                                          "workloadpriorityclasses"};
inline const api::GroupResource priority_classes{"scheduling.k8s.io", "priorityclasses"};
inline const api::GroupResource namespaces{"", "namespaces"};
inline const api::GroupResource nodes{"", "nodes"};
inline const api::GroupResource limit_ranges{"", "limitranges"};
inline const api::GroupResource runtime_classes{"node.k8s.io", "runtimeclasses"};
inline const api::GroupResource pods{"", "pods"};
inline const api::GroupResource jobs{"batch", "jobs"};
inline const api::GroupResource replica_sets{"apps", "replicasets"};
inline const api::GroupResource deployments{"apps", "deployments"};
inline const api::GroupResource stateful_sets{"apps", "statefulsets"};
inline const api::GroupResource ray_clusters{"ray.io", "rayclusters"};
inline const api::GroupResource ray_jobs{"ray.io", "rayjobs"};
inline const api::GroupResource job_sets{"jobset.x-k8s.io", "jobsets"};
inline const api::GroupResource app_wrappers{"workload.codeflare.dev", "appwrappers"};
inline const api::GroupResource old_app_wrappers{"mcad.ibm.com", "appwrappers"};

inline constexpr std::string_view kueue_version =
    "v1beta2";  // In which the cache holds Kueue's kinds.
inline constexpr std::string_view kueue_api_version = "kueue.x-k8s.io/v1beta2";

inline constexpr std::string_view queue_name_label = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view priority_class_label = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view max_time_label = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view job_uid_label = "kueue.x-k8s.io/job-uid";
inline constexpr std::string_view pod_set_label = "kueue.x-k8s.io/podset";
inline constexpr std::string_view cluster_queue_label = "kueue.x-k8s.io/cluster-queue-name";
inline constexpr std::string_view local_queue_label = "kueue.x-k8s.io/local-queue-name";
inline constexpr std::string_view boost_annotation = "kueue.x-k8s.io/priority-boost";
inline constexpr std::string_view workload_annotation = "kueue.x-k8s.io/workload";
inline constexpr std::string_view default_queue_annotation = "kueue.x-k8s.io/default-queue";
inline constexpr std::string_view admission_gates_annotation = "kueue.x-k8s.io/admission-gated-by";
inline constexpr std::string_view topology_gate = "kueue.x-k8s.io/topology";
inline constexpr std::string_view prebuilt_label = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view managed_label = "kueue.x-k8s.io/managed";  // And finalizer.
inline constexpr std::string_view group_label = "kueue.x-k8s.io/pod-group-name";
inline constexpr std::string_view pod_index_label = "kueue.x-k8s.io/pod-group-pod-index";
inline constexpr std::string_view pod_index_label_annotation =
    "kueue.x-k8s.io/pod-group-pod-index-label";
inline constexpr std::string_view pod_index_offset_annotation = "kueue.x-k8s.io/pod-index-offset";
inline constexpr std::string_view group_count_annotation = "kueue.x-k8s.io/pod-group-total-count";
inline constexpr std::string_view group_fast_annotation = "kueue.x-k8s.io/pod-group-fast-admission";
inline constexpr std::string_view group_serving_annotation = "kueue.x-k8s.io/pod-group-serving";
inline constexpr std::string_view suspending_parent_annotation =
    "kueue.x-k8s.io/pod-suspending-parent";
inline constexpr std::string_view role_hash_annotation = "kueue.x-k8s.io/role-hash";
inline constexpr std::string_view retriable_annotation = "kueue.x-k8s.io/retriable-in-group";
inline constexpr std::string_view group_workload_annotation = "kueue.x-k8s.io/is-group-workload";
inline constexpr std::string_view min_parallelism_annotation = "kueue.x-k8s.io/job-min-parallelism";
inline constexpr std::string_view equal_completions_annotation =
    "kueue.x-k8s.io/job-completions-equal-parallelism";
inline constexpr std::string_view elastic_annotation = "kueue.x-k8s.io/elastic-job";  // And gate.
inline constexpr std::string_view replaces_annotation =
    "kueue.x-k8s.io/workload-slice-replacement-for";
inline constexpr std::string_view slice_name_annotation = "kueue.x-k8s.io/workload-slice-name";
inline constexpr std::string_view admission_gate = "kueue.x-k8s.io/admission";
inline constexpr std::string_view in_use_finalizer = "kueue.x-k8s.io/resource-in-use";

inline bool is_app_wrapper(const api::GroupResource& resource) {
    return resource == app_wrappers || resource == old_app_wrappers;
}

/// The workload of a job: `<kind>-<name>-<5 hex>`, where the hash is over the job's identity.
std::string workload_name(std::string_view kind, std::string_view group, std::string_view name,
                          std::string_view uid);

}  // namespace muster::control::queue
