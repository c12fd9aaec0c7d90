// control/fold_pod.h - pods and nodes as objects become pods and nodes as `decide` sees them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "base/amount.h"
#include "base/time.h"
#include "control/conditions.h"
#include "decide/place/pod.h"
#include "kube/cache.h"

namespace muster::control {

/// A quantity as an amount of the resource: cpu in thousandths, everything else in units. What is
/// no quantity is none.
Amount fold_amount(std::string_view resource, const api::Value& quantity);

/// {"cpu": "2", "memory": "1Gi"} as amounts.
Resources fold_resources(const api::Value& quantities);

/// What a pod takes from its node: the sum of its containers (limits stand in for absent requests)
/// and sidecars, or its largest init container with the sidecars before it, whichever is more; plus
/// overhead. Resources stated for the whole pod replace the sums.
Resources effective_requests(const api::Value& pod_spec);

/// A metav1.LabelSelector.
decide::Selector fold_selector(const api::Value& selector);

decide::Toleration fold_toleration(const api::Value& toleration);

/// Absent when its effect is none that Kubernetes knows.
std::optional<decide::Taint> fold_taint(const api::Value& taint);

/// What placement sees of a pod or pod template. Namespace selectors of affinity terms are resolved
/// with the namespaces that are seen.
decide::PodShape fold_pod_shape(std::string_view ns, const api::Value& labels,
                                const api::Value& pod_spec, const kube::Cache& seen);

/// Whether that depends on which namespaces there are and what labels they have.
bool selects_namespaces(const api::Value& pod_spec);
/// Whether such pods may mean this namespace now and did not before, or the other way round. Null:
/// it is not there.
bool is_chosen_otherwise(const kube::Object* before, const kube::Object* after);

decide::Node fold_node(const kube::Object& node);

/// A pod whose processes are gone for good: phase Succeeded or Failed.
bool is_finished_pod(const kube::Object& pod);

/// Has condition Ready=True.
bool is_ready_pod(const kube::Object& pod);

/// A metav1.Time or MicroTime; not set when absent.
Time fold_time(const api::Value& time);

}  // namespace muster::control
