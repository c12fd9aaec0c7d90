// test/oracle/outcome.cpp - rows from objects, fields from rows.
#include "test/oracle/outcome.h"

#include <algorithm>
#include <optional>

#include "base/quantity.h"
#include "control/fold_pod.h"

namespace muster::oracle {
namespace {

using api::Value;
using control::condition_of;

bool is_true(const Value& object, const char* condition) {
    return condition_of(object["status"], condition)["status"].text_or("") == "True";
}

std::string state_of(const Value& workload) {
    const bool holds = workload["status"]["admission"].is_object();
    if (is_true(workload, "Finished")) return "finished";
    if (!workload["spec"]["active"].boolean_or(true))
        return holds ? "inactive-holding" : "inactive";
    if (is_true(workload, "Evicted")) return holds ? "evicting" : "evicted-pending";
    if (is_true(workload, "Admitted")) return "admitted";
    return is_true(workload, "QuotaReserved") ? "reserved" : "pending";
}

std::string joined(const std::vector<std::string>& values) {
    std::string text;
    for (const std::string& value : values)
        text += (text.empty() ? "" : "/") + value;
    return text;
}

std::string value_of_level(const Value& level, std::size_t domain) {
    if (!level["universal"].is_null()) return level["universal"].text();
    const Value& individual = level["individual"];
    return individual["prefix"].text() + individual["roots"][domain].text() +
           individual["suffix"].text();
}

/// [[level values joined by "/", pods], ...], sorted, whatever the slices are.
Value expanded(const Value& topology) {
    std::map<std::string, std::int64_t> pods;
    for (const Value& slice : topology["slices"].items()) {
        const auto domains = static_cast<std::size_t>(slice["domainCount"].integer_or(0));
        for (std::size_t i = 0; i < domains; ++i) {
            std::vector<std::string> values;
            for (const Value& level : slice["valuesPerLevel"].items())
                values.push_back(value_of_level(level, i));
            const Value& counts = slice["podCounts"];
            const Value& count =
                counts["universal"].is_null() ? counts["individual"][i] : counts["universal"];
            pods[joined(values)] += count.integer_or(0);
        }
    }
    Value list = Value::array();
    for (const auto& [domain, count] : pods)
        list.push(Value::array({domain, count}));
    return list;
}

Value pod_sets_of(const Value& admission) {
    Value sets = Value::object();
    for (const Value& assignment : admission["podSetAssignments"].items()) {
        Value set = Value::object({{"n", assignment["count"]}, {"f", Value::object()}});
        for (const auto& [resource, flavor] : assignment["flavors"].members())
            set.at("f").set(resource, flavor);
        const Value& topology = assignment["topologyAssignment"];
        if (topology.is_object()) set.set("t", expanded(topology));
        sets.set(assignment["name"].text_or("main"), std::move(set));
    }
    return sets;
}

/// Decimal digits without trailing zeros: the recorder's form of a quantity.
std::string digits(const Value& quantity) {
    const std::string text =
        quantity.is_integer() ? std::to_string(quantity.as_integer()) : quantity.text();
    const auto parsed = Quantity::parse(text.empty() ? "0" : text);
    if (!parsed) return "not a quantity: " + text;
    if (Quantity::from_units(parsed->units()) == *parsed) return std::to_string(parsed->units());
    const std::int64_t milli = parsed->milli();
    std::string fraction = std::to_string(1000 + std::abs(milli % 1000)).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    return std::string(milli < 0 ? "-" : "") + std::to_string(std::abs(milli / 1000)) + "." +
           fraction;
}

Value usage_of(const Value& flavors) {
    Value usage = Value::object();
    for (const Value& flavor : flavors.items()) {
        for (const Value& resource : flavor["resources"].items()) {
            const std::string total = digits(resource["total"]);
            const std::string borrowed = digits(resource["borrowed"]);
            if (total == "0" && borrowed == "0") continue;
            Value entry = Value::array({total});
            if (borrowed != "0") entry.push(borrowed);
            usage.set(flavor["name"].text() + "/" + resource["name"].text(), std::move(entry));
        }
    }
    return usage;
}

using Fields = std::map<std::pair<std::string, std::string>, Value>;

Value of_pod_sets(const Value& row, const char* what) {
    Value made = Value::object();
    for (const auto& [name, set] : row["ps"].members())
        made.set(name, set[what]);
    return made;
}

void add_workload(const std::string& name, const Value& row, Fields& fields) {
    const auto put = [&](const char* field, Value value) {
        fields[{field, name}] = std::move(value);
    };
    put("state", row["s"]);
    put("queue", row["q"]);
    put("flavors", of_pod_sets(row, "f"));
    put("count", of_pod_sets(row, "n"));
    const auto& sets = row["ps"].members();
    if (std::any_of(sets.begin(), sets.end(), [](const auto& m) { return m.value.has("t"); }))
        put("topology", of_pod_sets(row, "t"));
    put("quotaReason", row["qr"]);
    put("evictions", row["ev"].integer_or(0));
    put("evictedReason", row["er"]);
    put("preemptedReason", row["pr"]);
    put("lastPreemption", row["lp"]);
    put("stats", row["st"]);
    put("reclaimable", row["rp"]);
}

Fields fields_of(const Value& step) {
    Fields fields;
    for (const auto& [name, row] : step["wl"].members())
        add_workload(name, row, fields);
    for (const auto& [name, row] : step["cq"].members()) {
        fields[{"cqUsage", name}] = row["use"];
        fields[{"cqReservation", name}] = row.has("res") ? row["res"] : row["use"];
        fields[{"cqPending", name}] = row["n"][0];
        fields[{"cqAdmitted", name}] = Value::array({row["n"][1], row["n"][2]});
        fields[{"cqActive", name}] = row["act"];
        if (row.has("ws")) fields[{"cqShare", name}] = row["ws"];
    }
    for (const auto& [name, share] : step["co"].members())
        fields[{"cohortShare", name}] = share;
    fields[{"picks", ""}] = step["picks"];
    fields[{"errors", ""}] = step["errors"];
    return fields;
}

const Value& find_field(const Fields& fields, const Fields::key_type& key) {
    static const Value none{};
    const auto found = fields.find(key);
    return found == fields.end() ? none : found->second;
}

}  // namespace

Value workload_row(const Value& workload, const Evictions& evictions) {
    const Value& status = workload["status"];
    Value row = Value::object({{"s", state_of(workload)}});
    const bool finished = is_true(workload, "Finished");
    if (status["admission"].is_object() && !finished) {
        row.set("q", status["admission"]["clusterQueue"]);
        row.set("ps", pod_sets_of(status["admission"]));
    }
    const Value& reserved = condition_of(status, "QuotaReserved");
    if (reserved.is_object() && reserved["status"].text_or("") != "True" && !finished)
        row.set("qr", reserved["reason"]);
    if (evictions.completed > 0) row.set("ev", evictions.completed);
    if (!evictions.last_preemption.empty()) row.set("lp", evictions.last_preemption);
    for (const auto& [type, field] : {std::pair("Evicted", "er"), std::pair("Preempted", "pr")}) {
        const Value& condition = condition_of(status, type);
        if (condition.is_object()) row.set(field, condition["reason"]);
    }
    for (const Value& eviction : status["schedulingStats"]["evictions"].items()) {
        const std::string cause = eviction["underlyingCause"].text();
        row.at("st").set(eviction["reason"].text() + (cause.empty() ? "" : "/" + cause),
                         eviction["count"]);
    }
    for (const Value& pods : status["reclaimablePods"].items())
        row.at("rp").set(pods["name"].text(), pods["count"]);
    if (workload["metadata"].has("deletionTimestamp")) row.set("del", true);
    return row;
}

Value queue_row(const Value& cluster_queue) {
    const Value& status = cluster_queue["status"];
    Value row = Value::object({{"use", usage_of(status["flavorsUsage"])}});
    Value reserved = usage_of(status["flavorsReservation"]);
    if (!(reserved == row["use"])) row.set("res", std::move(reserved));
    row.set("n", Value::array({status["pendingWorkloads"].integer_or(0),
                               status["reservingWorkloads"].integer_or(0),
                               status["admittedWorkloads"].integer_or(0)}));
    row.set("act", condition_of(status, "Active")["reason"]);
    if (status["fairSharing"].is_object()) row.set("ws", status["fairSharing"]["weightedShare"]);
    return row;
}

bool is_core(const std::string& field) {
    return field == "state" || field == "queue" || field == "flavors" || field == "count" ||
           field == "topology";
}

std::vector<Difference> differences(const std::vector<Value>& expected,
                                    const std::vector<Value>& got,
                                    const std::set<std::string>& noisy) {
    std::vector<Difference> found;
    for (std::size_t i = 0; i < std::min(expected.size(), got.size()); ++i) {
        const Fields ours = fields_of(got[i]);
        const Fields theirs = fields_of(expected[i]);
        std::set<Fields::key_type> keys;
        for (const Fields* fields : {&ours, &theirs}) {
            for (const auto& [key, value] : *fields)
                keys.insert(key);
        }
        for (const auto& key : keys) {
            const Value& want = find_field(theirs, key);
            const Value& have = find_field(ours, key);
            if (!(want == have) && !noisy.contains(key.first))
                found.push_back({i, key.first, key.second, want, have});
        }
    }
    return found;
}

}  // namespace muster::oracle
