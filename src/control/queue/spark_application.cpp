// control/queue/spark_application.cpp - the pods that Spark will make, as far as queues must know
// them. A field of the application goes before a property of `sparkConf`, as spark-submit has it.
#include "control/queue/spark_application.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>

#include "api/field_error.h"
#include "api/patch.h"
#include "base/quantity.h"
#include "base/text.h"
#include "control/conditions.h"
#include "control/queue/guest_job_kinds.h"
#include "control/queue/job_rules.h"
#include "control/queue/managed.h"
#include "control/queue/topology_rules.h"

namespace muster::control::queue {
namespace {

using api::Value;

constexpr std::int64_t mebi = std::int64_t{1} << 20;

struct Role {
    std::string_view name;       // Of the pod set, and the member of the spec.
    std::string_view container;  // As Spark names it.
};
constexpr std::array<Role, 2> roles{Role{"driver", "spark-kubernetes-driver"},
                                    Role{"executor", "spark-kubernetes-executor"}};

const Value& property(const Value& app, const std::string& name) {
    return app["spec"]["sparkConf"][name];
}

/// "spark.driver.cores"
std::string of_role(const Role& role, const char* what) {
    return "spark." + std::string(role.name) + "." + what;
}

/// The field of the role, else the property. Empty: neither is given.
std::string given(const Value& app, const Role& role, const char* field, const std::string& name) {
    const Value& typed = app["spec"][role.name][field];
    if (typed.is_integer()) return std::to_string(typed.as_integer());
    const std::string text = typed.text();
    return text.empty() ? property(app, name).text() : text;
}

/// "512m", "2g", "1024": Java's words for an amount of memory, in bytes; a number without a unit is
/// in `unit`. Absent when it is none.
std::optional<std::int64_t> parse_memory(std::string_view text, std::int64_t unit) {
    const std::string word = to_lower(trim(text));
    const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    const auto number = parse_integer(word.substr(0, digits));
    if (!number || digits == 0) return std::nullopt;
    std::string suffix = word.substr(digits);
    if (suffix.size() == 2 && suffix[1] == 'b') suffix.pop_back();
    if (suffix.empty()) suffix = "?";
    constexpr std::string_view units = "bkmgtp";
    std::int64_t bytes = unit;
    if (suffix != "?") {
        const std::size_t power = units.find(suffix[0]);
        if (suffix.size() != 1 || power == std::string_view::npos) return std::nullopt;
        bytes = std::int64_t{1} << (10 * power);
    }
    if (*number > INT64_MAX / bytes) return std::nullopt;
    return *number * bytes;
}

std::int64_t mebibytes(const std::string& text, std::int64_t unset) {
    if (text.empty()) return unset;
    const auto bytes = parse_memory(text, mebi);
    return bytes ? *bytes / mebi : unset;
}

/// How much more than its heap a process needs, of its heap.
double overhead_factor(const Value& app, const Role& role) {
    std::string text = property(app, of_role(role, "memoryOverheadFactor")).text();
    if (text.empty()) text = property(app, "spark.kubernetes.memoryOverheadFactor").text();
    if (text.empty()) text = app["spec"]["memoryOverheadFactor"].text();
    if (!text.empty()) return std::max(std::strtod(text.c_str(), nullptr), 0.0);
    const std::string_view type = app["spec"]["type"].text_or("");
    return type == "Python" || type == "R" ? 0.4 : 0.1;
}

/// Memory of executors beside heap and overhead.
std::int64_t extra_mebibytes(const Value& app) {
    std::int64_t extra = 0;
    if (app["spec"]["type"].text_or("") == "Python")
        extra += mebibytes(property(app, "spark.executor.pyspark.memory").text(), 0);
    if (to_lower(property(app, "spark.memory.offHeap.enabled").text()) == "true")
        extra +=
            parse_memory(property(app, "spark.memory.offHeap.size").text(), 1).value_or(0) / mebi;
    return extra;
}

Value memory_of(const Value& app, const Role& role) {
    constexpr std::int64_t heap_unset = 1024;
    constexpr double overhead_min = 384;
    const std::int64_t heap =
        mebibytes(given(app, role, "memory", of_role(role, "memory")), heap_unset);
    const auto usual = static_cast<std::int64_t>(
        std::clamp(overhead_factor(app, role) * static_cast<double>(heap), overhead_min, 1e12));
    const std::int64_t overhead =
        mebibytes(given(app, role, "memoryOverhead", of_role(role, "memoryOverhead")), usual);
    const std::int64_t extra = role.name == "executor" ? extra_mebibytes(app) : 0;
    return Value(std::to_string(heap + overhead + extra) + "Mi");
}

Value cpu_of(const Value& app, const Role& role) {
    std::string cores = given(app, role, "coreRequest",
                              "spark.kubernetes." + std::string(role.name) + ".request.cores");
    if (cores.empty()) cores = given(app, role, "cores", of_role(role, "cores"));
    return Value(cores.empty() ? "1" : cores);
}

Value resources_of(const Value& app, const Role& role) {
    const Value& settings = app["spec"][role.name];
    Value limits = Value::object();
    if (!settings["coreLimit"].is_null()) limits.set("cpu", settings["coreLimit"]);
    if (const auto bytes = parse_memory(settings["memoryLimit"].text(), mebi))
        limits.set("memory", std::to_string(*bytes));
    const std::string gpu = settings["gpu"]["name"].text();
    const std::int64_t gpus = settings["gpu"]["quantity"].integer_or(0);
    if (!gpu.empty() && gpus > 0) limits.set(gpu, std::to_string(gpus));
    Value resources = Value::object(
        {{"requests",
          Value::object({{"cpu", cpu_of(app, role)}, {"memory", memory_of(app, role)}})}});
    if (!limits.empty()) resources.set("limits", std::move(limits));
    return resources;
}

void add_members(const Value& added, Value& to) {
    for (const auto& [name, value] : added.members())
        to.set(name, value);
}

PodSet pod_set(const Value& app, const Role& role) {
    const Value& settings = app["spec"][role.name];
    Value containers = Value::array(
        {Value::object({{"name", role.container}, {"resources", resources_of(app, role)}})});
    for (const Value& sidecar : settings["sidecars"].items())
        containers.push(sidecar);
    Value spec = Value::object({{"containers", std::move(containers)}});
    for (const char* name : {"initContainers", "affinity", "tolerations", "priorityClassName"}) {
        if (!settings[name].empty()) spec.set(name, settings[name]);
    }
    if (!settings["template"]["spec"]["schedulingGates"].empty())
        spec.set("schedulingGates", settings["template"]["spec"]["schedulingGates"]);
    for (const Value* selector : {&app["spec"]["nodeSelector"], &settings["nodeSelector"]}) {
        if (!selector->empty()) add_members(*selector, spec.at("nodeSelector"));
    }
    Value metadata = Value::object();
    for (const char* part : {"labels", "annotations"}) {
        for (const Value* from : {&settings["template"]["metadata"][part], &settings[part]}) {
            if (!from->empty()) add_members(*from, metadata.at(part));
        }
    }
    PodSet set{std::string(role.name), 1, {}, "", 0, ""};
    if (role.name == "executor") set.count = settings["instances"].integer_or(0);
    set.pod_template =
        Value::object({{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
    return set;
}

std::vector<PodSet> pod_sets(const Value& app) {
    return {pod_set(app, roles[0]), pod_set(app, roles[1])};
}

const Role& role_named(std::string_view name) {
    return name == roles[0].name ? roles[0] : roles[1];
}

/// Only one of the two may be set.
Value& node_selector(Value& app, std::string_view role) {
    Value& spec = app.at("spec");
    return spec["nodeSelector"].is_object() ? spec.at("nodeSelector")
                                            : spec.at(role).at("nodeSelector");
}

/// The role's pod template, which must name a container.
Value& own_template(Value& app, const Role& role) {
    Value& made = app.at("spec").at(role.name).at("template");
    if (made["spec"]["containers"].empty())
        made.at("spec").set("containers",
                            Value::array({Value::object({{"name", role.container}})}));
    return made;
}

void put(Value& app, const PodSet& set, const Value& pod_template) {
    const Value added = merge_patch_between(set.pod_template, pod_template);
    Value& settings = app.at("spec").at(set.name);
    for (const char* part : {"labels", "annotations"}) {
        if (!added["metadata"][part].empty())
            add_members(added["metadata"][part], settings.at(part));
    }
    const Value& spec = added["spec"];
    if (!spec["tolerations"].empty()) settings.set("tolerations", spec["tolerations"]);
    if (!spec["nodeSelector"].empty())
        add_members(spec["nodeSelector"], node_selector(app, set.name));
    if (!spec["schedulingGates"].empty()) {
        own_template(app, role_named(set.name))
            .at("spec")
            .set("schedulingGates", spec["schedulingGates"]);
    }
}

/// Leaves what stands in the original, with its values.
void keep_of(const Value& original, Value& object, std::string_view member) {
    Value* map = object.find(member);
    if (map == nullptr || !map->is_object()) return;
    std::erase_if(map->mutable_members(),
                  [&](const Value::Member& each) { return !original.has(each.key); });
    for (Value::Member& each : map->mutable_members())
        each.value = original[each.key];
    if (map->empty()) object.erase(member);
}

void take_back(Value& app, std::string_view pod_set, const Value& original) {
    Value& settings = app.at("spec").at(pod_set);
    for (const char* part : {"labels", "annotations"})
        keep_of(original["metadata"][part], settings, part);
    const Value& spec = original["spec"];
    keep_of(spec["nodeSelector"], settings, "nodeSelector");
    // Both roles had what stands here, and were given the same or their own.
    keep_of(spec["nodeSelector"], app.at("spec"), "nodeSelector");
    if (spec["tolerations"].empty()) {
        settings.erase("tolerations");
    } else {
        settings.set("tolerations", spec["tolerations"]);
    }
    Value* own = settings.find("template");
    Value* own_spec = own == nullptr ? nullptr : own->find("spec");
    if (own_spec == nullptr || !own_spec->has("schedulingGates")) return;
    if (spec["schedulingGates"].empty()) {
        own_spec->erase("schedulingGates");
    } else {
        own_spec->set("schedulingGates", spec["schedulingGates"]);
    }
}

bool are_ready(const Value& app) {
    if (app.path("status.applicationState.state").text_or("") != "RUNNING") return false;
    std::int64_t ready = 0;
    for (const auto& [name, state] : app["status"]["executorState"].members())
        ready += state.text_or("") == "RUNNING" || state.text_or("") == "COMPLETED" ? 1 : 0;
    return ready >= app.path("spec.executor.instances").integer_or(0);
}

FieldErrors check(const Value& app) {
    FieldErrors errors;
    const Value& spec = app["spec"];
    if (spec["mode"].text_or("") != "cluster") {
        errors.push_back(invalid_at("spec.mode", Value(spec["mode"].text()),
                                    "only Cluster mode is supported for a kueue managed job"));
    }
    if (!asks_to_be_elastic(app) && spec["dynamicAllocation"]["enabled"].boolean_or(false)) {
        errors.push_back(invalid_at("spec.dynamicAllocation.enabled", true,
                                    "a kueue managed job can use dynamicAllocation only when the "
                                    "ElasticJobsViaWorkloadSlices feature gate is on and the job "
                                    "is an elastic job"));
    }
    for (const PodSet& set : pod_sets(app)) {
        const std::string role = "spec." + set.name;
        check_topology(set.pod_template["metadata"], role, errors);
        check_slice_bound(set.pod_template["metadata"], role, set.count, errors);
    }
    return errors;
}

}  // namespace

JobKind spark_application_kind() {
    JobKind kind = named_guest("sparkoperator.k8s.io", "SparkApplication", "spec.suspend");
    kind.find_pod_sets = pod_sets;
    kind.put = put;
    kind.take_back = take_back;
    for (const auto& [state, success] :
         {std::pair{"COMPLETED", EndRule::Success::yes}, std::pair{"FAILED", EndRule::Success::no},
          std::pair{"SUBMISSION_FAILED", EndRule::Success::no}}) {
        kind.ends.push_back({EndRule::Sign::field, "status.applicationState.state", state, success,
                             "status.applicationState.errorMessage"});
    }
    kind.are_ready = are_ready;
    kind.unqueued = JobKind::Unqueued::free;
    kind.check = check;
    return kind;
}

}  // namespace muster::control::queue
