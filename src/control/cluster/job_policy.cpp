// control/cluster/job_policy.cpp - matching the rules of Job policies.
#include "control/cluster/job_policy.h"

#include <algorithm>

#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

/// The first ended container whose exit code the rule means; null when none.
const api::Value* matching_container(const api::Value& rule, const kube::Object& pod) {
    const std::string_view wanted = rule["containerName"].text_or("");
    const bool in = rule["operator"].text_or("") == "In";
    for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
        for (const api::Value& container : pod.value["status"][list].items()) {
            const api::Value& ended = container["state"]["terminated"];
            const std::int64_t code = ended["exitCode"].integer_or(0);
            if (ended.is_null() || code == 0) continue;
            if (!wanted.empty() && container["name"].text_or("") != wanted) continue;
            const api::Value::Array& values = rule["values"].items();
            const bool listed =
                std::any_of(values.begin(), values.end(),
                            [&](const api::Value& value) { return value.integer_or(-1) == code; });
            if (listed == in) return &container;
        }
    }
    return nullptr;
}

const api::Value* matching_condition(const api::Value& patterns, const kube::Object& pod) {
    for (const api::Value& pattern : patterns.items()) {
        const api::Value& condition =
            condition_of(pod.value["status"], pattern["type"].text_or(""));
        if (condition["status"].text_or("") == pattern["status"].text_or("True")) return &condition;
    }
    return nullptr;
}

/// How the rule matches, in words; absent when it does not.
std::optional<std::string> match(const api::Value& rule, const kube::Object& pod,
                                 std::size_t number) {
    const std::string name = pod.key.ns + "/" + pod.key.name;
    const std::string tail =
        " matching " + rule["action"].text() + " rule at index " + std::to_string(number);
    if (rule["onExitCodes"].is_object()) {
        const api::Value* container = matching_container(rule["onExitCodes"], pod);
        if (container == nullptr) return std::nullopt;
        const std::int64_t code = (*container)["state"]["terminated"]["exitCode"].integer_or(0);
        return "Container " + (*container)["name"].text() + " for pod " + name +
               " failed with exit code " + std::to_string(code) + tail;
    }
    const api::Value* condition = matching_condition(rule["onPodConditions"], pod);
    if (condition == nullptr) return std::nullopt;
    return "Pod " + name + " has condition " + (*condition)["type"].text() + tail;
}

}  // namespace

FailureVerdict judge_failure(const api::Value& policy, const kube::Object& pod) {
    using Action = FailureVerdict::Action;
    const api::Value::Array& rules = policy["rules"].items();
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto message = match(rules[i], pod, i);
        if (!message) continue;
        const std::string_view action = rules[i]["action"].text_or("");
        if (action == "FailJob") return {Action::fail_job, *message};
        if (action == "Ignore") return {Action::ignore, {}};
        return {Action::count, {}};
    }
    return {Action::count, {}};
}

std::optional<std::int64_t> satisfied_rule(const api::Value& policy, const IndexSet& succeeded,
                                           std::int64_t completions) {
    const api::Value::Array& rules = policy["rules"].items();
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const api::Value& rule = rules[i];
        const bool named = rule.has("succeededIndexes");
        const std::string everything = "0-" + std::to_string(completions - 1);
        const IndexSet wanted = IndexSet::parse(
            named ? rule["succeededIndexes"].text_or("") : std::string_view(everything),
            completions);
        const std::int64_t reached = wanted.shared_with(succeeded);
        const std::int64_t needed = rule["succeededCount"].integer_or(wanted.size());
        if (reached > 0 && reached >= needed) return static_cast<std::int64_t>(i);
    }
    return std::nullopt;
}

}  // namespace muster::control::cluster
