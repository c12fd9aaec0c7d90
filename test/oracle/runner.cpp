// test/oracle/runner.cpp - the actions of scenarios, and what a job controller does after them.
#include "test/oracle/runner.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/verify.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::oracle {
namespace {

using api::Value;
using control::condition_of;
using control::set_condition;

/// More than a scenario that settles ever needs.
constexpr int evictions_max = 40;

api::GroupResource resource_of(std::string_view kind) {
    static const std::map<std::string_view, api::GroupResource> table = {
        {"ResourceFlavor", {"kueue.x-k8s.io", "resourceflavors"}},
        {"ClusterQueue", {"kueue.x-k8s.io", "clusterqueues"}},
        {"Cohort", {"kueue.x-k8s.io", "cohorts"}},
        {"Topology", {"kueue.x-k8s.io", "topologies"}},
        {"LocalQueue", {"kueue.x-k8s.io", "localqueues"}},
        {"Workload", {"kueue.x-k8s.io", "workloads"}},
        {"Node", {"", "nodes"}},
        {"Namespace", {"", "namespaces"}}};
    const auto found = table.find(kind);
    VERIFY(found != table.end());
    return found->second;
}

bool is_true(const Value& object, const char* condition) {
    return condition_of(object["status"], condition)["status"].text_or("") == "True";
}

std::string name_of(const Value& object) {
    return object["metadata"]["name"].text();
}

struct Unsettled {
    std::string why;
};

class Player {
public:
    Player(const Case& recorded, Cluster& cluster, Trying trying, Several several)
        : case_(recorded), cluster_(cluster), trying_(trying), several_(several) {}

    Outcome play();

private:
    void act(const Value& action);
    void act_on(const std::string& what, const std::string& workload, const Value& action);
    std::vector<std::string> pick(const Value& action);
    void rest();
    void clear_eviction(const Value& workload);
    int finish(const std::string& workload);
    Value snapshot();
    static api::Key key_of(std::string_view kind, const std::string& name) {
        const bool namespaced = kind == "LocalQueue" || kind == "Workload";
        return {resource_of(kind), namespaced ? "ns" : "", name};
    }

    const Case& case_;
    Cluster& cluster_;
    Trying trying_;
    Several several_;
    std::map<std::string, Evictions> evictions_;
    int evicted_ = 0;
    Value picks_ = Value::array();
    Value errors_ = Value::array();
};

Outcome Player::play() {
    Value namespaces = case_.scenario["namespaces"];
    if (namespaces.empty()) namespaces = Value::object({{"ns", Value::object()}});
    for (const auto& [name, labels] : namespaces.members()) {
        cluster_.create(
            resource_of("Namespace"),
            Value::object({{"apiVersion", "v1"},
                           {"kind", "Namespace"},
                           {"metadata", Value::object({{"name", name}, {"labels", labels}})}}));
    }
    for (const Value& object : case_.scenario["objects"].items())
        cluster_.create(resource_of(object["kind"].text()), whole_object(object));
    Outcome outcome;
    try {
        rest();
        for (const Value& step : case_.scenario["steps"].items()) {
            picks_ = Value::array();
            errors_ = Value::array();
            const std::int64_t spacing = step["spacing"].is_number()
                                             ? static_cast<std::int64_t>(step["spacing"].as_real())
                                             : 0;
            for (const Value& action : step["actions"].items()) {
                act(action);
                if (step["mode"].text_or("") != "seq") continue;
                rest();
                cluster_.pass(seconds(1 + spacing));
            }
            rest();
            cluster_.pass(seconds(2));
            rest();
            outcome.steps.push_back(snapshot());
            if (trying_ == Trying::nothing) continue;
            Cluster::Remedies tried = cluster_.try_remedies();
            outcome.remedies.waiting += tried.waiting;
            outcome.remedies.suggested += tried.suggested;
            for (const auto& [reason, counts] : tried.by_reason) {
                outcome.remedies.by_reason[reason].first += counts.first;
                outcome.remedies.by_reason[reason].second += counts.second;
            }
            for (std::string& wrong : tried.wrong) {
                outcome.remedies.wrong.push_back(
                    case_.id + " step " + std::to_string(outcome.steps.size() - 1) + ": " + wrong);
            }
        }
    } catch (const Unsettled& unsettled) {
        outcome.unsettled = unsettled.why;
    }
    return outcome;
}

void Player::rest() {
    while (true) {
        if (!cluster_.rest()) throw Unsettled{"no rest"};
        kube::ObjectPtr evicted;
        for (const kube::ObjectPtr& workload : cluster_.list(resource_of("Workload"))) {
            if (!is_true(workload->value, "Evicted") || is_true(workload->value, "Finished"))
                continue;
            if (!workload->value["status"]["admission"].is_object()) continue;
            if (evicted == nullptr || workload->key.name < evicted->key.name) evicted = workload;
        }
        if (evicted == nullptr) return;
        clear_eviction(evicted->value);
        if (++evicted_ > evictions_max) throw Unsettled{"too many evictions"};
        cluster_.pass(seconds(1));
    }
}

// What a job controller does once an evicted job has no active pods left.
void Player::clear_eviction(const Value& workload) {
    const std::string name = name_of(workload);
    if (is_true(workload, "Preempted")) {
        evictions_[name].last_preemption =
            condition_of(workload["status"], "Preempted")["reason"].text();
    }
    ++evictions_[name].completed;
    const Value& evicted = condition_of(workload["status"], "Evicted");
    const std::string reason = evicted["reason"].text();
    const std::string message = evicted["message"].text();
    const bool at_once = reason == "Preempted" || reason == "NodeFailures";
    Value conditions = workload["status"]["conditions"];
    const Time now = cluster_.now();
    set_condition(conditions, {"Requeued", at_once ? "True" : "False", reason, message}, now);
    set_condition(conditions, {"QuotaReserved", "False", "PendingEvaluation", message}, now);
    if (condition_of(workload["status"], "Admitted").is_object()) {
        set_condition(conditions,
                      {"Admitted", "False", "NoReservation", "The workload has no reservation"},
                      now);
    }
    cluster_.merge(
        key_of("Workload", name),
        Value::object(
            {{"status", Value::object({{"admission", nullptr}, {"conditions", conditions}})}}),
        "status");
}

int Player::finish(const std::string& workload) {
    const kube::ObjectPtr found = cluster_.find(key_of("Workload", workload));
    if (found == nullptr) return 404;
    if (is_true(found->value, "Finished")) return 200;
    Value conditions = found->value["status"]["conditions"];
    if (!conditions.is_array()) conditions = Value::array();
    set_condition(conditions, {"Finished", "True", "Succeeded", "done"}, cluster_.now());
    return cluster_.merge(key_of("Workload", workload),
                          Value::object({{"status", Value::object({{"conditions", conditions}})}}),
                          "status");
}

std::vector<std::string> Player::pick(const Value& action) {
    if (action.has("wl")) return {action["wl"].text()};
    std::vector<std::string> picked;
    for (const Value& name : action["of"].items()) {
        if (static_cast<std::int64_t>(picked.size()) == action["n"].integer_or(1)) break;
        const kube::ObjectPtr found = cluster_.find(key_of("Workload", name.text()));
        if (found == nullptr) continue;
        const Value& workload = found->value;
        if (is_true(workload, "Admitted") && !is_true(workload, "Finished") &&
            !is_true(workload, "Evicted")) {
            picked.push_back(name.text());
        }
    }
    return picked;
}

void Player::act(const Value& action) {
    const std::string what = action["do"].text();
    const std::string kind = action["kind"].text();
    if (what == "apply") {
        cluster_.create(resource_of(action["obj"]["kind"].text()), whole_object(action["obj"]));
    } else if (what == "create") {
        cluster_.create(resource_of("Workload"), whole_workload(action["wl"]));
    } else if (what == "patch") {
        cluster_.merge(key_of(kind, action["name"].text()), action["patch"], "");
    } else if (what == "deleteObj") {
        cluster_.remove(key_of(kind, action["name"].text()));
    } else if (what == "nodeReady") {
        const Value ready =
            Value::object({{"type", "Ready"}, {"status", action["value"]}, {"reason", "Oracle"}});
        cluster_.merge(
            key_of("Node", action["name"].text()),
            Value::object({{"status", Value::object({{"conditions", Value::array({ready})}})}}),
            "status");
    } else {
        const std::vector<std::string> picked = pick(action);
        if (action.has("of")) {
            Value names = Value::array();
            for (const std::string& name : picked)
                names.push(name);
            picks_.push(std::move(names));
        }
        for (const std::string& workload : picked) {
            act_on(what, workload, action);
            if (several_ == Several::apart && !cluster_.rest()) throw Unsettled{"no rest"};
        }
    }
}

void Player::act_on(const std::string& what, const std::string& workload, const Value& action) {
    const api::Key key = key_of("Workload", workload);
    const auto set_spec = [&](const char* field) {
        return cluster_.merge(
            key, Value::object({{"spec", Value::object({{field, action["value"]}})}}), "");
    };
    int code = 0;
    if (what == "finish") {
        code = finish(workload);
    } else if (what == "delete") {
        code = cluster_.remove(key);
    } else if (what == "active" || what == "priority") {
        code = set_spec(what.c_str());
    } else if (what == "reclaim") {
        const Value pods = Value::object({{"name", action["podSet"]}, {"count", action["count"]}});
        code = cluster_.merge(
            key,
            Value::object({{"status", Value::object({{"reclaimablePods", Value::array({pods})}})}}),
            "status");
    }
    VERIFY(code != 0);
    if (code >= 400) errors_.push(what + " " + workload + " " + std::to_string(code));
}

Value Player::snapshot() {
    Value step = Value::object({{"wl", Value::object()}, {"cq", Value::object()}});
    for (const kube::ObjectPtr& workload : cluster_.list(resource_of("Workload"))) {
        const std::string& name = workload->key.name;
        step.at("wl").set(name, workload_row(workload->value, evictions_[name]));
    }
    for (const kube::ObjectPtr& queue : cluster_.list(resource_of("ClusterQueue")))
        step.at("cq").set(queue->key.name, queue_row(queue->value));
    for (const kube::ObjectPtr& cohort : cluster_.list(resource_of("Cohort"))) {
        const Value& fair = cohort->value["status"]["fairSharing"];
        if (fair.is_object()) step.at("co").set(cohort->key.name, fair["weightedShare"]);
    }
    if (!picks_.empty()) step.set("picks", picks_);
    if (!errors_.empty()) step.set("errors", errors_);
    return step;
}

}  // namespace

Outcome play(const Case& recorded, Cluster& cluster, Trying trying, Several several) {
    return Player(recorded, cluster, trying, several).play();
}

}  // namespace muster::oracle
