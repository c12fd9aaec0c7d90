// control/apps/deployment_status.cpp - a Deployment's numbers and conditions.
#include "control/apps/deployment_status.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "control/apps/pod_family.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::apps {
namespace {

struct Numbers {
    std::int64_t replicas = 0;
    std::int64_t updated = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
};

Numbers numbers_of(const DeploymentPass& pass) {
    Numbers all;
    for (const kube::ObjectPtr& set : pass.sets) {
        const api::Value& status = set->value["status"];
        all.replicas += status["replicas"].integer_or(0);
        all.ready += status["readyReplicas"].integer_or(0);
        all.available += status["availableReplicas"].integer_or(0);
    }
    if (pass.current != nullptr)
        all.updated = pass.current->value["status"]["replicas"].integer_or(0);
    return all;
}

void drop_condition(api::Value& status, std::string_view type) {
    api::Value others = api::Value::array();
    for (const api::Value& condition : status["conditions"].items()) {
        if (condition["type"].text_or("") != type) others.push(condition);
    }
    if (!status["conditions"].is_null()) status.set("conditions", std::move(others));
}

// As set_condition, with the lastUpdateTime that Deployments have besides.
void set_with_update(api::Value& status, const ConditionText& text, Time now) {
    if (!set_condition(status.at("conditions"), text, now)) return;
    for (api::Value& condition : status.at("conditions").mutable_items()) {
        if (condition["type"].text_or("") == text.type)
            condition.set("lastUpdateTime", to_rfc3339(now));
    }
}

void set_available(const DeploymentPass& pass, const Numbers& numbers, api::Value& status) {
    const std::int64_t least = pass.rollout.replicas - pass.rollout.max_unavailable;
    if (numbers.available >= least) {
        set_with_update(status,
                        {"Available", "True", "MinimumReplicasAvailable",
                         "Deployment has minimum availability."},
                        pass.now);
    } else {
        set_with_update(status,
                        {"Available", "False", "MinimumReplicasUnavailable",
                         "Deployment does not have minimum availability."},
                        pass.now);
    }
}

/// It moved on since the status was last written.
bool has_moved(const DeploymentPass& pass, const Numbers& numbers) {
    const api::Value& before = pass.deployment.value["status"];
    const std::int64_t old_now = numbers.replicas - numbers.updated;
    const std::int64_t old_before =
        before["replicas"].integer_or(0) - before["updatedReplicas"].integer_or(0);
    return numbers.updated > before["updatedReplicas"].integer_or(0) || old_now < old_before ||
           numbers.ready > before["readyReplicas"].integer_or(0) ||
           numbers.available > before["availableReplicas"].integer_or(0);
}

std::string quoted_set(const DeploymentPass& pass) {
    return "ReplicaSet \"" +
           (pass.current != nullptr ? pass.current->key.name : pass.created_name) + "\"";
}

bool complete(const DeploymentPass& pass, const Numbers& numbers) {
    return pass.current != nullptr && numbers.updated == pass.rollout.replicas &&
           numbers.replicas == pass.rollout.replicas && numbers.available == pass.rollout.replicas;
}

/// Absent: there is no deadline.
std::optional<Duration> deadline_left(const DeploymentPass& pass, const api::Value& status) {
    constexpr std::int64_t none = std::numeric_limits<std::int32_t>::max();
    const std::int64_t limit = pass.spec["progressDeadlineSeconds"].integer_or(none);
    if (limit == none) return std::nullopt;
    const Time since = fold_time(condition_of(status, "Progressing")["lastUpdateTime"]);
    return since + seconds(limit) - pass.now;
}

void set_progressing(DeploymentPass& pass, const Numbers& numbers, api::Value& status) {
    const std::string reason = condition_of(status, "Progressing")["reason"].text();
    const auto say = [&](const char* truth, const char* why, const std::string& message) {
        set_with_update(status, {"Progressing", truth, why, message}, pass.now);
    };
    if (!pass.created_name.empty()) {
        drop_condition(status, "Progressing");
        return say("True", "NewReplicaSetCreated",
                   "Created new replica set \"" + pass.created_name + "\"");
    }
    if (complete(pass, numbers)) {
        return say("True", "NewReplicaSetAvailable",
                   quoted_set(pass) + " has successfully progressed.");
    }
    if (pass.spec["paused"].boolean_or(false)) {
        return say("Unknown", "DeploymentPaused", "Deployment is paused");
    }
    if (has_moved(pass, numbers) || reason.empty() || reason == "DeploymentPaused" ||
        reason == "NewReplicaSetAvailable") {
        drop_condition(status, "Progressing");
        return say("True", "ReplicaSetUpdated", quoted_set(pass) + " is progressing.");
    }
    const auto left = deadline_left(pass, status);
    if (!left || reason == "ProgressDeadlineExceeded") return;
    if (*left <= Duration{}) {
        return say("False", "ProgressDeadlineExceeded",
                   quoted_set(pass) + " has timed out progressing.");
    }
    pass.result.look_again = std::min(pass.result.look_again.value_or(*left), *left);
}

void set_failure(const DeploymentPass& pass, api::Value& status) {
    for (const kube::ObjectPtr& set : pass.sets) {
        const api::Value& failure = condition_of(set->value["status"], "ReplicaFailure");
        if (failure["status"].text_or("") != "True") continue;
        set_with_update(
            status, {"ReplicaFailure", "True", failure["reason"].text(), failure["message"].text()},
            pass.now);
        return;
    }
    drop_condition(status, "ReplicaFailure");
}

}  // namespace

bool is_complete(const DeploymentPass& pass) {
    return complete(pass, numbers_of(pass));
}

api::Value deployment_status(DeploymentPass& pass) {
    const Numbers numbers = numbers_of(pass);
    api::Value status = pass.deployment.value["status"];
    const auto set = [&status](const char* field, std::int64_t number) {
        if (number != 0) {
            status.set(field, number);
        } else {
            status.erase(field);
        }
    };
    status.set("observedGeneration", pass.deployment.value["metadata"]["generation"].integer_or(0));
    set("replicas", numbers.replicas);
    set("updatedReplicas", numbers.updated);
    set("readyReplicas", numbers.ready);
    set("availableReplicas", numbers.available);
    set("unavailableReplicas",
        std::max<std::int64_t>(
            0, std::max(numbers.replicas, pass.rollout.replicas) - numbers.available));
    set_available(pass, numbers, status);
    set_progressing(pass, numbers, status);
    set_failure(pass, status);
    return status;
}

void tell_scaled(DeploymentPass& pass, const std::string& set, std::int64_t from, std::int64_t to) {
    const std::string direction = to >= from ? "up" : "down";
    if (from == to) return;
    pass.result.events.push_back({pass.deployment.key, "Normal", "ScalingReplicaSet",
                                  "Scaled " + direction + " replica set " + set + " from " +
                                      std::to_string(from) + " to " + std::to_string(to),
                                  ""});
}

}  // namespace muster::control::apps
