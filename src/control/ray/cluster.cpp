// control/ray/cluster.cpp - reconciling a RayCluster: service, pods, status.
#include "control/ray/cluster.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "api/owner.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/ray/auth.h"
#include "control/ray/cluster_status.h"
#include "control/ray/names.h"
#include "control/ray/pod_state.h"
#include "control/ray/pods.h"
#include "control/ray/upgrade.h"
#include "control/ray/validate.h"

namespace muster::control::ray {
namespace {

using api::Value;

constexpr std::string_view controller_name = "raycluster-controller";

/// One reconcile in the making.
struct Pass {
    const kube::Cache& seen;
    const kube::Object& cluster;
    std::vector<kube::ObjectPtr> pods;  // All that the cluster owns.
    Time now;
    Reconciled result;
    std::int64_t made = 0;  // Pods.

    void remove(const kube::Object& pod, const std::string& reason, const std::string& why) {
        result.writes.push_back({Write::Verb::remove, pod.key, "v1", "", {}, 0, pod.uid, ""});
        result.events.push_back(
            {cluster.key, "Normal", reason, why + " Pod " + to_text(pod.key), "Delete"});
    }

    void create(Value pod, const std::string& reason) {
        const api::Key key{ray::pods, cluster.key.ns, pod["metadata"]["name"].text()};
        result.events.push_back(
            {cluster.key, "Normal", reason, "Created Pod " + key.ns + "/" + key.name, "Create"});
        result.writes.push_back({Write::Verb::create, key, "v1", "", std::move(pod), 0, "", ""});
        ++made;
    }
};

void want_service(Pass& pass, Value service) {
    const api::Key key{services, pass.cluster.key.ns, service["metadata"]["name"].text()};
    if (pass.seen.find(key) != nullptr) return;  // Created once, never updated.
    pass.result.events.push_back(
        {pass.cluster.key, "Normal", "CreatedService", "Created Service " + key.name, "Create"});
    pass.result.writes.push_back(
        {Write::Verb::create, key, "v1", "", std::move(service), 0, "", ""});
}

void delete_all_pods(Pass& pass, const std::string& why) {
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (!pod->is_terminating()) pass.remove(*pod, "DeletedPod", why + ": deleted");
    }
}

/// A head on its way out still answers under the cluster's name: nothing new may join it. One that
/// outlives its grace sits on a node that is lost; it answers no more.
bool is_head_ending(Pass& pass) {
    constexpr Duration patience = seconds(30);
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (pod->label(node_type_label) != "head" || !pod->is_terminating()) continue;
        const Time due = fold_time(pod->value["metadata"]["deletionTimestamp"]) + patience;
        if (due <= pass.now) continue;
        pass.result.look_again = due - pass.now;
        return true;
    }
    return false;
}

/// upgradeStrategy Recreate: true when the pods are of another spec and go. What was hashed by
/// another version, or not at all, is marked anew and stays.
bool replaced(Pass& pass) {
    if (!wants_recreate(pass.cluster.value["spec"])) return false;
    const auto head =
        std::find_if(pass.pods.begin(), pass.pods.end(), [](const kube::ObjectPtr& pod) {
            return pod->label(node_type_label) == "head" && !pod->is_terminating();
        });
    if (head == pass.pods.end()) return false;
    const std::string hash = spec_hash(pass.cluster.value["spec"]);
    if ((*head)->annotation(version_annotation) != kuberay_version) {
        Value patch;
        Value& annotations = patch.at("metadata").at("annotations");
        annotations.set(spec_hash_annotation, hash);
        annotations.set(version_annotation, kuberay_version);
        pass.result.writes.push_back(
            {Write::Verb::merge_patch, (*head)->key, "v1", "", std::move(patch), 0, "", ""});
        return false;
    }
    if ((*head)->annotation(spec_hash_annotation) == hash) return false;
    delete_all_pods(pass, "The spec has changed, and upgradeStrategy is Recreate");
    return true;
}

/// The smallest number whose pod name nobody has, starting at `number`.
template <typename NameOf>
int free_number(const kube::Cache& seen, const std::string& ns, int number, NameOf name_of) {
    while (seen.find({ray::pods, ns, name_of(number)}) != nullptr)
        ++number;
    return number;
}

/// The head was ready once and is to be kept as it ended, for its job ended with it.
bool keeps_lost_head(const kube::Object& cluster) {
    const Value& provisioned = condition_of(cluster.value["status"], "RayClusterProvisioned");
    return cluster.annotation(keep_lost_head_annotation) == "true" &&
           provisioned["status"].text_or("") == "True";
}

void reconcile_head(Pass& pass) {
    const bool keep = keeps_lost_head(pass.cluster);
    bool present = keep;
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (pod->label(node_type_label) != "head" || pod->is_terminating()) continue;
        if (keep) return;
        if (is_lost(*pod)) {
            pass.remove(*pod, "DeletedHeadPod", "Deleted a lost head");
        } else if (std::exchange(present, true)) {
            pass.remove(*pod, "DeletedHeadPod", "Deleted a surplus head");
        }
    }
    if (present || is_head_ending(pass)) return;
    const int number = free_number(pass.seen, pass.cluster.key.ns, 0,
                                   [&](int n) { return head_pod_name(pass.cluster, n); });
    pass.create(head_pod(pass.cluster, number), "CreatedHeadPod");
}

void reconcile_group(Pass& pass, const Value& group) {
    const std::string_view name = group["groupName"].text_or("");
    std::set<std::string> to_delete;
    for (const Value& worker : group["scaleStrategy"]["workersToDelete"].items())
        to_delete.insert(worker.text());
    std::vector<kube::ObjectPtr> running;
    for (const kube::ObjectPtr& pod : pass.pods) {
        if (pod->label(group_label) != name || pod->label(node_type_label) != "worker" ||
            pod->is_terminating()) {
            continue;
        }
        if (is_lost(*pod)) {
            pass.remove(*pod, "DeletedWorkerPod", "Deleted a lost worker");
        } else if (to_delete.contains(pod->key.name)) {
            pass.remove(*pod, "DeletedWorkerPod", "Deleted as scaleStrategy asks");
        } else {
            running.push_back(pod);
        }
    }
    const auto desired = static_cast<std::size_t>(desired_replicas(group));
    // Surplus: those that are not ready go first, then the last by name.
    std::sort(
        running.begin(), running.end(), [](const kube::ObjectPtr& a, const kube::ObjectPtr& b) {
            return std::pair(!is_ready(*a), a->key.name) < std::pair(!is_ready(*b), b->key.name);
        });
    for (std::size_t i = desired; i < running.size(); ++i) {
        pass.remove(*running[i], "DeletedWorkerPod", "Deleted a surplus worker");
    }
    if (is_head_ending(pass)) return;
    int number = 0;
    for (std::size_t i = running.size(); i < desired && pass.made < pods_per_pass; ++i, ++number) {
        number = free_number(pass.seen, pass.cluster.key.ns, number,
                             [&](int n) { return worker_pod_name(pass.cluster, group, n); });
        pass.create(worker_pod(pass.cluster, group, number), "CreatedWorkerPod");
    }
}

void reconcile_pods(Pass& pass) {
    const Value& cluster = pass.cluster.value;
    const Value& suspending = condition_of(cluster["status"], "RayClusterSuspending");
    if (suspending["status"].text_or("") == "True") {
        delete_all_pods(pass, "Suspended the cluster");
        return;
    }
    // A wish to suspend is first written down (as the Suspending condition), so that it is atomic.
    if (cluster["spec"]["suspend"].boolean_or(false) || replaced(pass)) return;
    reconcile_head(pass);
    for (const Value& group : cluster["spec"]["workerGroupSpecs"].items())
        reconcile_group(pass, group);
}

/// The reason of ReplicaFailure is that of the event that the write would have left.
std::string failure_reason(const Write& write) {
    const std::string verb = write.verb == Write::Verb::remove ? "FailedDelete" : "FailedCreate";
    if (write.key.resource == services) return verb + "Service";
    const std::string_view type = write.body["metadata"]["labels"][node_type_label].text_or("");
    return verb + (type == "head" ? "HeadPod" : "WorkerPod");
}

bool has_own_ending(const kube::Object& pod) {
    constexpr std::int64_t usual_grace = 30;
    const Value& spec = pod.value["spec"];
    if (spec["terminationGracePeriodSeconds"].integer_or(usual_grace) != usual_grace) return true;
    const auto& containers = spec["containers"].items();
    return std::any_of(containers.begin(), containers.end(), [](const Value& container) {
        return container["lifecycle"].has("preStop");
    });
}

/// Pods that end because their whole cluster does. On SIGTERM Ray drains its node for up to 30
/// seconds, for the sake of a cluster that goes on; when that goes too, the wait is for nothing.
std::vector<Write> hurry(const kube::Cache& seen, const api::Key& key) {
    constexpr std::int64_t grace_seconds = 5;  // An idle node is gone in two.
    std::vector<Write> writes;
    for (const kube::ObjectPtr& pod : seen.list(ray::pods, key.ns)) {
        const Value& owner = api::controller_of(pod->value);
        const bool of_cluster = pod->label(cluster_label) == key.name &&
                                owner["kind"].text_or("") == "RayCluster" &&
                                owner["name"].text_or("") == key.name;
        const std::int64_t left =
            pod->value["metadata"]["deletionGracePeriodSeconds"].integer_or(0);
        if (!of_cluster || !pod->is_terminating() || left <= grace_seconds || has_own_ending(*pod))
            continue;
        writes.push_back(
            {Write::Verb::remove, pod->key, "v1", "", {}, 0, pod->uid, "", grace_seconds});
    }
    return writes;
}

std::optional<Problem> refused_write(const Pass& pass) {
    for (const Write& write : pass.result.writes) {
        if (const kube::Object* refusal = find_refusal(pass.seen, controller_name, write.key)) {
            return Problem{failure_reason(write), refusal->value["message"].text()};
        }
    }
    return std::nullopt;
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr cluster = seen.find(key);
    if (cluster != nullptr && !is_managed_here(cluster->value)) return {};
    if (cluster == nullptr || cluster->is_terminating()) {
        Reconciled result;
        result.writes = hurry(seen, key);
        return result;
    }
    Pass pass{seen, *cluster, seen.owned_by(ray::pods, cluster->uid), now, {}};
    ClusterView view{*cluster,
                     pass.pods,
                     seen.find({services, key.ns, head_service_name(cluster->value)}),
                     check_cluster(cluster->value),
                     std::nullopt,
                     now};
    if (view.problem) {
        const bool told = cluster->value["status"]["reason"].text_or("") == view.problem->message;
        if (!told)
            pass.result.events.push_back(
                {key, "Warning", view.problem->reason, view.problem->message, "Validate"});
    } else {
        want_service(pass, head_service(pass.cluster));
        if (wants_serve_service(pass.cluster)) want_service(pass, serve_service(pass.cluster));
        if (has_token(seen, *cluster, pass.result)) reconcile_pods(pass);
        view.failure = refused_write(pass);
    }
    Value status = cluster_status(view);
    if (!(status == cluster->value["status"])) {
        Value body = cluster->value;
        body.set("status", std::move(status));
        // Status first: suspending must be on record before its pods go, and a refused pod must
        // show.
        pass.result.writes.insert(pass.result.writes.begin(),
                                  {Write::Verb::update, key, "ray.io/v1", "status", std::move(body),
                                   cluster->version, "", ""});
    }
    return std::move(pass.result);
}

}  // namespace

Controller cluster_controller() {
    Controller controller;
    controller.name = controller_name;
    controller.watches = {watch_self(clusters, "v1"), watch_owned(ray::pods, "v1", clusters),
                          watch_owned(services, "v1", clusters),
                          watch_owned(secrets, "v1", clusters)};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::ray
