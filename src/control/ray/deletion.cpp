// control/ray/deletion.cpp - deletion rules with their conditions and waiting times, and the older
// forms of the same wish.
#include "control/ray/deletion.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace muster::control::ray {
namespace {

using api::Value;

Deletion deletion_named(std::string_view policy) {
    if (policy == "DeleteSelf") return Deletion::self;
    if (policy == "DeleteCluster") return Deletion::cluster;
    if (policy == "DeleteWorkers") return Deletion::workers;
    return Deletion::none;
}

/// Adds a wish that holds from `from` on.
void wish(Deletions& deletions, Deletion what, Time from, Deletion done, Time now) {
    if (what <= done) return;
    if (from <= now) {
        deletions.now = std::max(deletions.now, what);
    } else if (!deletions.next || from < *deletions.next) {
        deletions.next = from;
    }
}

bool holds(const Value& condition, const Value& status) {
    for (const char* field : {"jobStatus", "jobDeploymentStatus"}) {
        const std::string_view wanted = condition[field].text_or("");
        if (!wanted.empty()) return status[field].text_or("") == wanted;
    }
    return false;
}

/// Which side of onSuccess and onFailure counts; null when the job was stopped by hand.
const Value& side_of(const Value& strategy, const Value& status) {
    static const Value neither{};
    const bool failed = status["jobStatus"].text_or("") == "FAILED" ||
                        status["jobDeploymentStatus"].text_or("") == "Failed";
    if (failed) return strategy["onFailure"];
    return status["jobStatus"].text_or("") == "SUCCEEDED" ? strategy["onSuccess"] : neither;
}

std::optional<std::string> check_rule(const Value& rule, const std::string& where,
                                      const Value& spec) {
    const Deletion what = deletion_named(rule["policy"].text_or(""));
    const bool touches_cluster = what == Deletion::cluster || what == Deletion::workers;
    if (touches_cluster && !spec["clusterSelector"].empty()) {
        return where + ": " + rule["policy"].text() +
               " is not allowed with clusterSelector: the cluster is not the job's own";
    }
    return std::nullopt;
}

std::string condition_text(const Value& condition) {
    for (const char* field : {"jobStatus", "jobDeploymentStatus"}) {
        if (condition.has(field)) return std::string(field) + " " + condition[field].text();
    }
    return "no condition";
}

std::optional<std::string> check_rules(const Value& spec) {
    const Value& rules = spec["deletionStrategy"]["deletionRules"];
    if (spec["shutdownAfterJobFinishes"].boolean_or(false)) {
        return "spec.deletionStrategy.deletionRules and shutdownAfterJobFinishes exclude each "
               "other: a rule with DeleteCluster does the same";
    }
    std::map<std::string, std::map<Deletion, std::int64_t>> waits;  // By condition.
    int number = 0;
    for (const Value& rule : rules.items()) {
        const std::string where =
            "spec.deletionStrategy.deletionRules[" + std::to_string(number++) + "]";
        if (auto wrong = check_rule(rule, where, spec)) return wrong;
        const std::string condition = condition_text(rule["condition"]);
        const Deletion what = deletion_named(rule["policy"].text_or(""));
        const std::int64_t wait = rule["condition"]["ttlSeconds"].integer_or(0);
        if (!waits[condition].emplace(what, wait).second) {
            return where + ": a second rule with " + rule["policy"].text() + " for " + condition;
        }
    }
    for (const auto& [condition, of_policy] : waits) {
        std::int64_t longest = 0;
        for (const auto& [what, wait] : of_policy) {
            if (what == Deletion::none) continue;
            if (wait < longest) {
                return "spec.deletionStrategy.deletionRules: for " + condition +
                       " the ttlSeconds must not fall from DeleteWorkers to DeleteCluster to "
                       "DeleteSelf";
            }
            longest = wait;
        }
    }
    return std::nullopt;
}

}  // namespace

Deletions deletions_of(const Value& job, Deletion done, Time now) {
    const Value& spec = job["spec"];
    const Value& status = job["status"];
    const Value& strategy = spec["deletionStrategy"];
    const Time ended = parse_rfc3339(status["endTime"].text_or("")).value_or(now);
    const Time after_wait = ended + seconds(spec["ttlSecondsAfterFinished"].integer_or(0));
    Deletions deletions;
    if (!strategy["deletionRules"].empty()) {
        for (const Value& rule : strategy["deletionRules"].items()) {
            const Value& condition = rule["condition"];
            if (!holds(condition, status)) continue;
            wish(deletions, deletion_named(rule["policy"].text_or("")),
                 ended + seconds(condition["ttlSeconds"].integer_or(0)), done, now);
        }
    } else if (strategy.is_object()) {
        const std::string_view policy = side_of(strategy, status)["policy"].text_or("");
        wish(deletions, deletion_named(policy), after_wait, done, now);
    } else if (spec["shutdownAfterJobFinishes"].boolean_or(false)) {
        wish(deletions, Deletion::cluster, after_wait, done, now);
    }
    return deletions;
}

std::optional<std::string> check_deletion(const Value& spec) {
    const Value& strategy = spec["deletionStrategy"];
    if (!strategy.is_object()) return std::nullopt;
    if (strategy.has("deletionRules")) return check_rules(spec);
    for (const char* side : {"onSuccess", "onFailure"}) {
        const std::string where = std::string("spec.deletionStrategy.") + side;
        const Value& rule = strategy[side];
        if (rule["policy"].text_or("").empty()) return where + ": policy is required";
        if (auto wrong = check_rule(rule, where, spec)) return wrong;
        if (rule["policy"].text_or("") == "DeleteNone" &&
            spec["shutdownAfterJobFinishes"].boolean_or(false)) {
            return where + ": DeleteNone contradicts shutdownAfterJobFinishes";
        }
    }
    return std::nullopt;
}

}  // namespace muster::control::ray
