// control/queue/checks.cpp - admission checks in Kueue's words.
#include "control/queue/checks.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::queue {
namespace {

using api::Value;

std::set<std::string> flavors_of(const Value& cluster_queue) {
    std::set<std::string> names;
    for (const Value& group : cluster_queue["spec"]["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items())
            names.insert(flavor["name"].text());
    }
    return names;
}

std::set<std::string> flavors_in(const Value& admission) {
    std::set<std::string> names;
    for (const Value& set : admission["podSetAssignments"].items()) {
        for (const auto& [resource, flavor] : set["flavors"].members())
            names.insert(flavor.text());
    }
    return names;
}

const Value& state_of(const Value& status, const std::string& check) {
    static const Value none{};
    for (const Value& state : status["admissionChecks"].items()) {
        if (state["name"].text_or("") == check) return state;
    }
    return none;
}

}  // namespace

std::vector<std::string> checks_for(const Value& cluster_queue, const Value& status) {
    const bool has_flavors = status["admission"].is_object();
    const std::set<std::string> flavors =
        has_flavors ? flavors_in(status["admission"]) : flavors_of(cluster_queue);
    const Value& rules = cluster_queue["spec"]["admissionChecksStrategy"]["admissionChecks"];
    std::set<std::string> names;
    for (const Value& rule : rules.items()) {
        std::set<std::string> on;
        for (const Value& flavor : rule["onFlavors"].items())
            on.insert(flavor.text());
        const auto is_meant = [&](const std::string& flavor) {
            return on.empty() || on.contains(flavor);
        };
        const bool applies = has_flavors ? std::any_of(flavors.begin(), flavors.end(), is_meant)
                                         : std::all_of(flavors.begin(), flavors.end(), is_meant);
        if (applies) names.insert(rule["name"].text());
    }
    return {names.begin(), names.end()};
}

void sync_checks(Value& status, const std::vector<std::string>& names, Time now) {
    const Value before = status["admissionChecks"];
    if (names.empty()) {
        if (!before.empty()) status.erase("admissionChecks");
        return;
    }
    Value after = Value::array();
    for (const std::string& name : names) {
        const Value& known = state_of(status, name);
        after.push(!known.is_null() ? known
                                    : Value::object({{"name", name},
                                                     {"state", "Pending"},
                                                     {"message", ""},
                                                     {"lastTransitionTime", to_rfc3339(now)}}));
    }
    // Their order is nobody's concern: another one is no reason to write.
    const auto holds = [&](const Value& check) {
        return !state_of(status, check["name"].text()).is_null();
    };
    const auto& all = after.items();
    if (before.size() == after.size() && std::all_of(all.begin(), all.end(), holds)) return;
    status.set("admissionChecks", std::move(after));
}

bool has_check_in(const Value& status, std::string_view state) {
    const auto& checks = status["admissionChecks"].items();
    return std::any_of(checks.begin(), checks.end(),
                       [&](const Value& check) { return check["state"].text_or("") == state; });
}

void sync_admitted(Value& status, Time now) {
    const Value before = condition_of(status, "Admitted");
    const bool was = before["status"].text_or("") == "True";
    const auto& checks = status["admissionChecks"].items();
    const bool ready = std::all_of(checks.begin(), checks.end(), [](const Value& check) {
        return check["state"].text_or("") == "Ready";
    });
    ConditionText text{"Admitted", "True", "Admitted", "The workload is admitted"};
    if (!status["admission"].is_object()) {
        text = {"Admitted", "False", "NoReservation", "The workload has no reservation"};
    } else if (!ready) {
        text = {"Admitted", "False", "UnsatisfiedAdmissionChecks",
                "The workload has not all checks ready"};
    }
    if (was && text.status == "False") {
        constexpr std::int64_t second = 1'000'000'000;
        const Duration ran = now - fold_time(before["lastTransitionTime"]);
        constexpr const char* sum = "accumulatedPastExecutionTimeSeconds";
        status.set(sum,
                   status[sum].integer_or(0) + std::max<std::int64_t>(0, ran.nanoseconds / second));
    }
    set_condition(status.at("conditions"), text, now);
}

void reset_checks(Value& status, Time now) {
    if (status["admissionChecks"].empty()) return;
    for (Value& check : status.at("admissionChecks").mutable_items()) {
        const std::string state = check["state"].text();
        if (state == "Pending") continue;
        Value reset =
            Value::object({{"name", check["name"]},
                           {"state", "Pending"},
                           {"message", "Reset to Pending after eviction. Previously: " + state},
                           {"lastTransitionTime", to_rfc3339(now)}});
        if (check.has("requeueAfterSeconds"))
            reset.set("requeueAfterSeconds", check["requeueAfterSeconds"]);
        if (state == "Retry") reset.set("retryCount", check["retryCount"].integer_or(0) + 1);
        check = std::move(reset);
    }
}

std::optional<Time> retry_time(const Value& status) {
    std::optional<Time> latest;
    for (const Value& check : status["admissionChecks"].items()) {
        if (check["state"].text_or("") != "Retry" || !check["requeueAfterSeconds"].is_integer())
            continue;
        const Time at = fold_time(check["lastTransitionTime"]) +
                        seconds(check["requeueAfterSeconds"].as_integer());
        if (!latest || *latest < at) latest = at;
    }
    return latest;
}

std::string check_message(const Value& status, std::string_view state) {
    std::vector<std::string> parts;
    for (const Value& check : status["admissionChecks"].items()) {
        if (check["state"].text_or("") != state) continue;
        const std::string message = check["message"].text();
        parts.push_back("\"" + check["name"].text() + "\"" +
                        (message.empty() ? "" : " (" + message + ")"));
    }
    std::sort(parts.begin(), parts.end());
    return (parts.size() > 1 ? "AdmissionChecks in " : "AdmissionCheck in ") + std::string(state) +
           " state: " + join(parts, "; ");
}

}  // namespace muster::control::queue
