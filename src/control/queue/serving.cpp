// control/queue/serving.cpp - reconciling a queued StatefulSet with its Workload.
#include "control/queue/serving.h"

#include <string>
#include <utility>

#include "control/conditions.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_writes.h"
#include "control/queue/workload.h"

namespace muster::control::queue {
namespace {

using api::Value;

const JobKind& kind_of_sets() {
    static const JobKind kind = stateful_set_kind();
    return kind;
}

struct Pass {
    const kube::Cache& seen;
    const JobRules& rules;
    const kube::Object& set;
    const Time now;
    std::vector<PodSet> pod_sets;
    kube::ObjectPtr workload = {};
    Reconciled result = {};
};

void create(Pass& pass) {
    const auto priority = priority_or_tell(pass.seen, pass.set, pass.pod_sets, pass.result);
    if (!priority) return;
    Value made = new_workload(kind_of_sets(), pass.set, pass.pod_sets, *priority);
    copy_labels(pass.rules.labels_to_copy, pass.set.value, made);
    const api::Key key{workloads, pass.set.key.ns, made["metadata"]["name"].text()};
    pass.result.events.push_back({pass.set.key, "Normal", "CreatedWorkload",
                                  "Created Workload: " + key.ns + "/" + key.name, ""});
    pass.result.writes.push_back(creation_of_workload(key.ns, std::move(made)));
}

void change_status(Pass& pass, const Value& status) {
    if (auto write = status_write(*pass.workload, status))
        pass.result.writes.push_back(std::move(*write));
}

/// Scaled to nothing: the quota goes back when the last pod is gone, and the Workload stays.
void put_on_hold(Pass& pass) {
    if (is_on_hold(pass.workload->value) || !living_pods(pass.seen, pass.set.uid).empty()) return;
    Value status = pass.workload->value["status"];
    status.erase("admission");
    Value& conditions = status.at("conditions");
    set_condition(
        conditions,
        {"QuotaReserved", "False", "OnHold", "StatefulSet scaled to zero; workload on hold"},
        pass.now);
    set_condition(conditions,
                  {"Admitted", "False", "NoReservation", "The workload has no reservation"},
                  pass.now);
    change_status(pass, status);
}

void take_off_hold(Pass& pass) {
    Value status = pass.workload->value["status"];
    set_condition(status.at("conditions"),
                  {"QuotaReserved", "False", "PendingEvaluation",
                   "StatefulSet scaled up; workload is queued again"},
                  pass.now);
    change_status(pass, status);
}

/// A waiting Workload follows the set; one that holds quota starts over.
void follow(Pass& pass) {
    const Value& workload = pass.workload->value;
    if (has_admission(workload)) {
        if (agree(workload, pass.pod_sets, Compare::counts_and_requests)) return;
        pass.result.writes.push_back(deletion_of_workload(*pass.workload));
        pass.result.events.push_back({pass.set.key, "Normal", "DeletedWorkload",
                                      "Deleted not matching Workload: " + pass.workload->key.ns +
                                          "/" + pass.workload->key.name,
                                      ""});
        return;
    }
    Value wanted = workload;
    if (!agree(wanted, pass.pod_sets, Compare::everything))
        wanted.at("spec").set("podSets", to_pod_sets(pass.pod_sets));
    follow_metadata(pass.seen, pass.set.value, pass.pod_sets, wanted);
    const Value patch = merge_patch_between(workload, wanted);
    if (!patch.empty()) {
        pass.result.writes.push_back(patch_of(*pass.workload, kueue_api_version, patch));
    } else if (is_on_hold(workload)) {
        take_off_hold(pass);
    }
}

Reconciled reconcile(const JobRules& rules, const kube::Cache& seen, const api::Key& key,
                     Time now) {
    const kube::ObjectPtr set = seen.find(key);
    if (set == nullptr || set->is_terminating() || is_left_alone(kind_of_sets(), set->value))
        return {};
    const FindObject find = find_in(seen);
    if (!is_managed(set->value, key.ns, find) &&
        !must_find_queue(rules, kind_of_sets(), set->value, key.ns, find)) {
        return {};
    }
    Pass pass{seen, rules, *set, now, pod_sets_of(kind_of_sets(), set->value)};
    pass.workload = seen.find({workloads, key.ns, stateful_set_workload(key.name, set->uid)});
    const bool scaled_to_zero = set->value["spec"]["replicas"].integer_or(1) == 0;
    if (pass.workload == nullptr) {
        if (!scaled_to_zero) create(pass);
    } else if (pass.workload->is_terminating() || is_finished(pass.workload->value)) {
        return {};
    } else if (scaled_to_zero) {
        put_on_hold(pass);
    } else {
        follow(pass);
    }
    return std::move(pass.result);
}

/// The last pod of a set that has none any more.
std::vector<api::Key> set_of_pod(const kube::Cache&, const kube::Object* before,
                                 const kube::Object* after) {
    if (after != nullptr) return {};
    const Value& owner = controller_of(before->value);
    if (owner["kind"].text_or("") != "StatefulSet") return {};
    return {{stateful_sets, before->key.ns, owner["name"].text()}};
}

}  // namespace

Controller stateful_set_controller(const Settings& settings) {
    Controller controller;
    controller.name = "statefulset-kueue-controller";
    controller.watches = {watch_self(stateful_sets, "v1"),
                          watch_owned(workloads, std::string(kueue_version), stateful_sets),
                          Watch{pods, "v1", set_of_pod}};
    controller.reconcile = [rules = settings.jobs](const kube::Cache& seen, const api::Key& key,
                                                   Time now) {
        return reconcile(rules, seen, key, now);
    };
    return controller;
}

}  // namespace muster::control::queue
