// control/queue/planner_pods.cpp - pods on nodes into the state: which Workload each is of.
#include <utility>

#include "api/kind.h"
#include "api/owner.h"
#include "control/fold_pod.h"
#include "control/queue/fold.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"
#include "control/queue/planner.h"

namespace muster::control::queue {
namespace {

/// A pod without a phase of its end, on a node.
bool takes_room(const kube::Object& pod) {
    return !pod.value["spec"]["nodeName"].text_or("").empty() && !is_finished_pod(pod);
}

}  // namespace

std::string QueuePlanner::workload_of_pod(const kube::Cache& seen, const kube::Object& pod) const {
    const std::string_view named = workload_named_by(pod);
    // The pods of a slice that was replaced are those of the slice that replaced it.
    const auto living = [this](const api::Key& workload) {
        const auto found = entries_.find(workload);
        return found != entries_.end() && found->second.over ? std::nullopt : id_of(workload);
    };
    if (!named.empty()) {
        const auto id = living({workloads, pod.key.ns, std::string(named)});
        if (id) return *id;
    }
    constexpr int depth_max = 10;
    api::Value owner = controller_of(pod.value);
    for (int depth = 0; depth < depth_max && !owner.is_null(); ++depth) {
        // Not only job kinds: a Deployment of an AppWrapper has a ReplicaSet between.
        const auto version = api::parse_group_version(owner["apiVersion"].text_or(""));
        const api::Kind* kind = seen.kinds().find_named(version.group, owner["kind"].text_or(""));
        if (kind == nullptr || !kind->namespaced) break;
        const api::Key key{kind->resource(), pod.key.ns, owner["name"].text()};
        if (const auto id = id_of(key); id && is_app_wrapper(key.resource)) return *id;
        for (const kube::ObjectPtr& workload : seen.owned_by(workloads, owner["uid"].text_or(""))) {
            if (const auto id = living(workload->key)) return *id;
        }
        const kube::ObjectPtr parent = seen.find(key);
        if (parent == nullptr) break;
        owner = controller_of(parent->value);
    }
    return {};
}

void QueuePlanner::fold_pod_object(const kube::Cache& seen, const api::Key& key,
                                   const kube::Object* object) {
    const std::string name = key.ns + "/" + key.name;
    const auto known = bound_pods_.find(name);
    const bool same =
        known != bound_pods_.end() && object != nullptr && known->second.uid == object->uid;
    if (!same || !takes_room(*object)) unbind(name);
    if (object == nullptr || same || !takes_room(*object)) return;
    decide::PodBound bound;
    bound.name = name;
    bound.node = object->value["spec"]["nodeName"].text();
    bound.shape =
        fold_pod_shape(key.ns, object->value["metadata"]["labels"], object->value["spec"], seen);
    bound.workload = workload_of_pod(seen, *object);
    bound.pod_set = std::string(object->label(pod_set_label));
    bound_pods_[name] = {object->uid, bound.workload};
    if (!bound.workload.empty()) ++pods_of_[bound.workload];
    apply(state_, std::move(bound));
}

bool QueuePlanner::unbind(const std::string& name) {
    const auto found = bound_pods_.find(name);
    if (found == bound_pods_.end()) return false;
    const auto of = pods_of_.find(found->second.workload);
    if (of != pods_of_.end() && --of->second == 0) pods_of_.erase(of);
    bound_pods_.erase(found);
    apply(state_, decide::PodGone{name});
    return true;
}

}  // namespace muster::control::queue
