// control/apps/replica_set.cpp - the ReplicaSet controller: as many pods of one template as wanted.
#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "control/apps/apps.h"
#include "control/apps/pod_family.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::apps {
namespace {

constexpr const char* controller_name = "replicaset-controller";

bool has_controller(const api::Value& object) {
    const api::Value::Array& owners = object["metadata"]["ownerReferences"].items();
    return std::any_of(owners.begin(), owners.end(), [](const api::Value& owner) {
        return owner["controller"].boolean_or(false);
    });
}

std::int64_t deletion_cost(const kube::Object& pod) {
    const std::string_view text = pod.annotation("controller.kubernetes.io/pod-deletion-cost");
    std::int64_t cost = 0;
    std::from_chars(text.data(), text.data() + text.size(), cost);
    return cost;
}

/// Those whose removal costs least come first: not placed, not running, not ready, cheap by
/// annotation, on a node with more of them, ready for a shorter time, restarted more, younger.
std::vector<kube::ObjectPtr> by_cost(std::vector<kube::ObjectPtr> pods) {
    std::map<std::string, std::int64_t> on_node;
    const auto node_of = [](const kube::Object& pod) {
        return pod.value["spec"]["nodeName"].text();
    };
    for (const kube::ObjectPtr& pod : pods)
        ++on_node[node_of(*pod)];
    const auto rank = [&](const kube::Object& pod) {
        const api::Value& status = pod.value["status"];
        std::int64_t restarts = 0;
        for (const api::Value& container : status["containerStatuses"].items())
            restarts += container["restartCount"].integer_or(0);
        const bool placed = !node_of(pod).empty();
        const Time ready = fold_time(condition_of(status, "Ready")["lastTransitionTime"]);
        const Time created = fold_time(pod.value["metadata"]["creationTimestamp"]);
        return std::tuple(placed, status["phase"].text_or("") == "Running", is_ready_pod(pod),
                          deletion_cost(pod), placed ? -on_node[node_of(pod)] : 0,
                          -ready.since_epoch, -restarts, -created.since_epoch, pod.key.name);
    };
    std::sort(pods.begin(), pods.end(), [&](const kube::ObjectPtr& a, const kube::ObjectPtr& b) {
        return rank(*a) < rank(*b);
    });
    return pods;
}

/// One reconcile of one ReplicaSet in the making.
struct Pass {
    const kube::Cache& seen;
    const kube::Object& set;
    const Time now;
    const api::Value& spec = set.value["spec"];
    std::vector<kube::ObjectPtr> active;
    std::int64_t terminating = 0;
    std::int64_t made = 0;  // Less those removed.
    std::string refusal;    // Why a pod could not be made.
    Reconciled result;

    void tell(const char* type, const char* reason, const std::string& message) {
        result.events.push_back({set.key, type, reason, message, ""});
    }
};

void adopt_and_release(Pass& pass) {
    const api::Value& selector = pass.spec["selector"];
    for (const kube::ObjectPtr& pod : pass.seen.owned_by(pods, pass.set.uid)) {
        if (selects(selector, pod->value["metadata"]["labels"]) || pod->is_terminating()) {
            if (pod->is_terminating() && !is_finished_pod(*pod)) ++pass.terminating;
            if (!pod->is_terminating() && !is_finished_pod(*pod)) pass.active.push_back(pod);
            continue;
        }
        api::Value others = api::Value::array();
        for (const api::Value& owner : pod->value["metadata"]["ownerReferences"].items()) {
            if (owner["uid"].text_or("") != pass.set.uid) others.push(owner);
        }
        api::Value body;
        body.at("metadata").set("ownerReferences", std::move(others));
        pass.result.writes.push_back(patch_of(*pod, "v1", std::move(body)));
    }
    if (pass.set.is_terminating()) return;
    for (const kube::ObjectPtr& pod : pass.seen.list(pods, pass.set.key.ns)) {
        if (has_controller(pod->value) || pod->is_terminating() || is_finished_pod(*pod)) continue;
        if (!selects(selector, pod->value["metadata"]["labels"])) continue;
        api::Value owners = pod->value["metadata"]["ownerReferences"];
        owners.push(owner_reference(pass.set));
        api::Value body;
        body.at("metadata").set("ownerReferences", std::move(owners));
        pass.result.writes.push_back(patch_of(*pod, "v1", std::move(body)));
        pass.active.push_back(pod);
    }
}

void make_pods(Pass& pass, std::int64_t missing) {
    if (missing > pods_per_pass) pass.result.look_again = Duration{};
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < std::min(missing, pods_per_pass); ++i) {
        api::Key key{pods, pass.set.key.ns, ""};
        do {
            // 63 characters are a host name's limit.
            key.name = pass.set.key.name.substr(0, 57) + "-" +
                       derived_suffix(pass.set.uid, std::to_string(number++));
        } while (pass.seen.find(key) != nullptr);
        if (const auto* refused = find_refusal(pass.seen, controller_name, key)) {
            pass.refusal = refused->value["message"].text();
            pass.tell("Warning", "FailedCreate", "Error creating: " + pass.refusal);
            pass.result.events.back().told = Event::Told::always;
        }
        pass.result.writes.push_back(
            create_of(key, "v1", make_pod(pass.set, pass.spec["template"], key.name)));
        pass.tell("Normal", "SuccessfulCreate", "Created pod: " + key.name);
        ++pass.made;
    }
}

void remove_pods(Pass& pass, std::int64_t superfluous) {
    if (superfluous > pods_per_pass) pass.result.look_again = Duration{};
    const std::vector<kube::ObjectPtr> cheapest = by_cost(pass.active);
    for (std::int64_t i = 0; i < std::min(superfluous, pods_per_pass); ++i) {
        const kube::ObjectPtr& pod = cheapest[static_cast<std::size_t>(i)];
        pass.result.writes.push_back(remove_of(*pod, "v1"));
        pass.tell("Normal", "SuccessfulDelete", "Deleted pod: " + pod->key.name);
    }
}

void set_failure(Pass& pass, api::Value& status) {
    if (!pass.refusal.empty()) {
        set_condition(status.at("conditions"),
                      {"ReplicaFailure", "True", "FailedCreate", pass.refusal}, pass.now);
        return;
    }
    api::Value others;
    for (const api::Value& condition : status["conditions"].items()) {
        if (condition["type"].text_or("") != "ReplicaFailure") others.push(condition);
    }
    if (others.is_null()) {
        status.erase("conditions");
    } else {
        status.set("conditions", std::move(others));
    }
}

/// What is seen now: pods that this pass makes or removes count when they are seen.
api::Value status_now(Pass& pass) {
    const Duration min_ready = seconds(count_of(pass.spec, "minReadySeconds", 0));
    const api::Value& wanted = pass.spec["template"]["metadata"]["labels"];
    std::int64_t labelled = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    for (const kube::ObjectPtr& pod : pass.active) {
        const api::Value& labels = pod->value["metadata"]["labels"];
        const bool has_all =
            std::all_of(wanted.members().begin(), wanted.members().end(),
                        [&](const auto& label) { return labels[label.key] == label.value; });
        if (has_all) ++labelled;
        if (is_ready_pod(*pod)) ++ready;
        if (is_available(*pod, min_ready, pass.now)) ++available;
        if (const auto left = until_available(*pod, min_ready, pass.now))
            pass.result.look_again = std::min(pass.result.look_again.value_or(*left), *left);
    }
    api::Value status = pass.set.value["status"];
    status.set("replicas", static_cast<std::int64_t>(pass.active.size()));
    status.set("fullyLabeledReplicas", labelled);
    status.set("readyReplicas", ready);
    status.set("availableReplicas", available);
    status.set("terminatingReplicas", pass.terminating);
    status.set("observedGeneration", pass.set.value["metadata"]["generation"].integer_or(0));
    set_failure(pass, status);
    return status;
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr set = seen.find(key);
    if (!seen.synced() || set == nullptr) return {};
    Pass pass{seen, *set, now, set->value["spec"], {}, 0, 0, {}, {}};
    adopt_and_release(pass);
    const auto active = static_cast<std::int64_t>(pass.active.size());
    const std::int64_t wanted = count_of(pass.spec, "replicas", 1);
    if (!set->is_terminating() && active < wanted) make_pods(pass, wanted - active);
    if (!set->is_terminating() && active > wanted) remove_pods(pass, active - wanted);
    if (auto write = status_of(*set, status_now(pass))) {
        // Making pods may fail and end the pass: the status is told first.
        pass.result.writes.insert(pass.result.writes.begin(), std::move(*write));
    }
    return std::move(pass.result);
}

/// Orphans wake the sets that would take them.
std::vector<api::Key> takers(const kube::Cache& seen, const kube::Object& pod) {
    std::vector<api::Key> keys;
    if (has_controller(pod.value) || pod.value["metadata"]["labels"].empty()) return keys;
    for (const kube::ObjectPtr& set : seen.list(replica_sets, pod.key.ns)) {
        if (selects(set->value["spec"]["selector"], pod.value["metadata"]["labels"]))
            keys.push_back(set->key);
    }
    return keys;
}

}  // namespace

Controller replica_set_controller() {
    Controller controller;
    controller.name = controller_name;
    Watch orphans{pods, "v1", {}};
    orphans.wakes = [](const kube::Cache& seen, const kube::Object*, const kube::Object* after) {
        return after == nullptr ? std::vector<api::Key>{} : takers(seen, *after);
    };
    controller.watches = {watch_self(replica_sets, "v1"), watch_owned(pods, "v1", replica_sets),
                          std::move(orphans)};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::apps
