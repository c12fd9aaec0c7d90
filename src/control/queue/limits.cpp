// control/queue/limits.cpp - completing pod specs, and holding them against limits.
#include "control/queue/limits.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/denial.h"
#include "api/field_error.h"
#include "control/fold_pod.h"
#include "control/queue/job_rules.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr const char* container_lists[] = {"initContainers", "containers"};

void keep_least(Resources& kept, const Resources& more) {
    for (const auto& [resource, amount] : more) {
        const auto [found, is_new] = kept.try_emplace(resource, amount);
        if (!is_new) found->second = std::min(found->second, amount);
    }
}

void keep_most(Resources& kept, const Resources& more) {
    for (const auto& [resource, amount] : more) {
        const auto [found, is_new] = kept.try_emplace(resource, amount);
        if (!is_new) found->second = std::max(found->second, amount);
    }
}

void keep_first(Value& kept, const Value& more) {
    for (const auto& [resource, quantity] : more.members()) {
        if (!kept.has(resource)) kept.set(resource, quantity);
    }
}

void add_limit(std::optional<Limits::Range>& range, const Value& limit) {
    if (!range) range = Limits::Range{};
    keep_least(range->max, fold_resources(limit["max"]));
    keep_most(range->min, fold_resources(limit["min"]));
    keep_first(range->defaults, limit["default"]);
    keep_first(range->default_requests, limit["defaultRequest"]);
}

/// What stands under `list` of the resources, without what is there.
void fill(Value& holder, const char* list, const Value& from) {
    for (const auto& [resource, quantity] : from.members()) {
        if (!holder["resources"][list].has(resource))
            holder.at("resources").at(list).set(resource, quantity);
    }
}

void complete(Value& holder, const Limits::Range& range) {
    const Value limits = holder["resources"]["limits"];
    fill(holder, "requests", limits);
    fill(holder, "limits", range.defaults);
    fill(holder, "requests", range.default_requests);
}

/// Absent: it names none, or has its overhead already.
std::optional<std::string> runtime_class_of(const Value& pod_spec) {
    std::string name = pod_spec["runtimeClassName"].text();
    if (name.empty() || !pod_spec["overhead"].empty()) return std::nullopt;
    return name;
}

Value overhead_of(const Value& pod_spec, const kube::Cache& seen) {
    const auto name = runtime_class_of(pod_spec);
    if (!name) return {};
    const kube::ObjectPtr found = seen.find({runtime_classes, "", *name});
    return found == nullptr ? Value() : found->value["overhead"]["podFixed"];
}

/// The resources of which both speak and the first has more.
Value greater(const Resources& amounts, const Resources& than) {
    Value names = Value::array();
    for (const auto& [resource, amount] : amounts) {
        const auto found = than.find(resource);
        if (found != than.end() && amount > found->second) names.push(Value(resource));
    }
    return names;
}

void add_fault(const std::string& path, const Value& names, const char* words,
               FieldErrors& faults) {
    if (!names.empty()) faults.push_back(invalid_at(path, names, words));
}

std::string item_path(const std::string& path, const char* list, std::size_t index) {
    return path + "." + list + "[" + std::to_string(index) + "]";
}

void check_own_limits(const Value& pod_spec, const std::string& path, FieldErrors& faults) {
    const auto check = [&](const Value& resources, const std::string& at) {
        add_fault(
            at, greater(fold_resources(resources["requests"]), fold_resources(resources["limits"])),
            "requests must not exceed its limits", faults);
    };
    for (const char* list : container_lists) {
        for (std::size_t i = 0; i < pod_spec[list].size(); ++i)
            check(pod_spec[list][i]["resources"], item_path(path, list, i));
    }
    check(pod_spec["resources"], path + ".resources");
}

void check_range(const Limits::Range& range, const Resources& least, const Resources& most,
                 const std::string& path, FieldErrors& faults) {
    add_fault(path, greater(most, range.max), "requests must not be above the limitRange max",
              faults);
    add_fault(path, greater(range.min, least), "requests must not be below the limitRange min",
              faults);
}

void check_ranges(const Value& pod_spec, const Limits& limits, const std::string& path,
                  FieldErrors& faults) {
    for (const char* list : container_lists) {
        if (!limits.container) break;
        for (std::size_t i = 0; i < pod_spec[list].size(); ++i) {
            const Value& resources = pod_spec[list][i]["resources"];
            Resources least = fold_resources(resources["requests"]);
            Resources most = least;
            keep_least(least, fold_resources(resources["limits"]));
            keep_most(most, fold_resources(resources["limits"]));
            check_range(*limits.container, least, most, item_path(path, list, i), faults);
        }
    }
    if (!limits.pod) return;
    const Resources total = effective_requests(pod_spec);
    check_range(*limits.pod, total, total, path, faults);
}

std::string missing_class(const Value& pod_set, const kube::Cache& seen) {
    const auto name = runtime_class_of(pod_set["template"]["spec"]);
    if (!name || seen.find({runtime_classes, "", *name}) != nullptr) return {};
    return "in podSet " + std::string(pod_set["name"].text_or("main")) +
           ": RuntimeClass.node.k8s.io \"" + *name + "\" not found";
}

}  // namespace

Limits limits_of(const kube::Cache& seen, std::string_view ns) {
    Limits limits;
    for (const kube::ObjectPtr& range : seen.list(limit_ranges, ns)) {
        for (const Value& limit : range->value["spec"]["limits"].items()) {
            const std::string_view type = limit["type"].text_or("");
            if (type == "Container") add_limit(limits.container, limit);
            if (type == "Pod") add_limit(limits.pod, limit);
        }
    }
    return limits;
}

std::optional<Value> completed(const Value& pod_spec, const Limits& limits,
                               const kube::Cache& seen) {
    const Value overhead = overhead_of(pod_spec, seen);
    if (!limits.container && !limits.pod && overhead.empty()) return std::nullopt;
    Value spec = pod_spec;
    if (!overhead.empty()) spec.set("overhead", overhead);
    for (const char* list : container_lists) {
        if (!limits.container || !spec[list].is_array()) continue;
        for (Value& container : spec.at(list).mutable_items()) {
            if (container.is_object()) complete(container, *limits.container);
        }
    }
    if (limits.pod && spec["resources"].is_object()) {
        fill(spec, "limits", limits.pod->defaults);
        fill(spec, "requests", limits.pod->default_requests);
    }
    return spec;
}

std::string request_fault(const Value& workload, const Limits& limits, const kube::Cache& seen) {
    FieldErrors own;
    FieldErrors ranges;
    const Value& sets = workload["spec"]["podSets"];
    for (std::size_t i = 0; i < sets.size(); ++i) {
        if (std::string missing = missing_class(sets[i], seen); !missing.empty()) return missing;
        const Value& given = sets[i]["template"]["spec"];
        const std::string path = "spec.podSets[" + std::to_string(i) + "].template.spec";
        const std::optional<Value> spec = completed(given, limits, seen);
        check_own_limits(spec ? *spec : given, path, own);
        check_ranges(spec ? *spec : given, limits, path, ranges);
    }
    if (!own.empty()) return "resources validation failed: " + joined(own);
    if (!ranges.empty())
        return "resources didn't satisfy LimitRange constraints: " + joined(ranges);
    return {};
}

}  // namespace muster::control::queue
