// control/appwrapper/demand.cpp - reading GenericItems.
#include "control/appwrapper/demand.h"

#include <algorithm>
#include <utility>

#include "api/guest_kinds.h"
#include "base/text.h"
#include "control/appwrapper/wrapped.h"
#include "control/owner.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::appwrapper {
namespace {

using api::Value;

constexpr std::size_t name_max = 63;

/// A pod with one container that asks for these amounts.
Value stand_in(const Value& requests, const Value& limits) {
    Value asked = limits.is_object() ? limits : Value::object();
    for (const auto& [resource, amount] : requests.members())
        asked.set(resource, amount);
    Value resources = Value::object({{"requests", std::move(asked)}});
    Value container = Value::object({{"name", "main"}, {"resources", std::move(resources)}});
    return Value::object(
        {{"spec", Value::object({{"containers", Value::array({std::move(container)})}})}});
}

void infer_ray(std::vector<PodDemand>& demand, const std::string& name, const Value& cluster_spec) {
    demand.push_back({name + "-head", 1, cluster_spec["headGroupSpec"]["template"]});
    int number = 0;
    for (const Value& group : cluster_spec["workerGroupSpecs"].items()) {
        const std::int64_t replicas =
            std::max(group["replicas"].integer_or(0), group["minReplicas"].integer_or(0)) *
            std::max<std::int64_t>(1, group["numOfHosts"].integer_or(1));
        demand.push_back({name + "-" + std::to_string(number++), replicas, group["template"]});
    }
}

/// A job of a kind that others define: by the table that its queue goes by.
bool infer_guest(std::vector<PodDemand>& demand, const std::string& name, const Value& object) {
    const std::string_view group_version = object["apiVersion"].text_or("");
    const std::string_view kind_name = object["kind"].text_or("");
    if (api::find_kind_named(api::parse_group_version(group_version).group, kind_name) != nullptr)
        return false;
    const queue::JobKind* kind = queue::find_job_kind_named(group_version, kind_name);
    if (kind == nullptr) return false;
    for (queue::PodSet& set : queue::pod_sets_of(*kind, object))
        demand.push_back({name + "-" + set.name, set.count, std::move(set.pod_template)});
    return true;
}

void infer(std::vector<PodDemand>& demand, const std::string& name, const Value& object) {
    if (infer_guest(demand, name, object)) return;
    const std::string_view kind = object["kind"].text_or("");
    const Value& spec = object["spec"];
    if (kind == "Pod") {
        demand.push_back(
            {name, 1, Value::object({{"metadata", object["metadata"]}, {"spec", spec}})});
    } else if (kind == "RayCluster") {
        infer_ray(demand, name, spec);
    } else if (kind == "RayJob") {
        infer_ray(demand, name, spec["rayClusterSpec"]);
    } else if (spec["template"]["spec"].is_object()) {
        const std::int64_t completions = spec["completions"].integer_or(INT32_MAX);
        const std::int64_t count = spec["replicas"].integer_or(spec["parallelism"].integer_or(1));
        demand.push_back({name, std::min(count, completions), spec["template"]});
    }
}

void apply_node_selector(std::vector<PodDemand>& demand, const Value& selector) {
    if (selector.empty()) return;
    for (PodDemand& pods : demand) {
        Value& spec = pods.pod_template.at("spec");
        for (const auto& [label, value] : selector.members())
            spec.at("nodeSelector").set(label, value);
    }
}

Value labelled(Value object, const std::string& wrapper, const std::string& name) {
    const auto mark = [&](Value& labels) {
        labels.set("appwrapper.mcad.ibm.com", wrapper);
        labels.set("resourceName", name);
    };
    mark(object.at("metadata").at("labels"));
    Value* spec = object.find("spec");
    Value* pod = spec == nullptr ? nullptr : spec->find("template");
    Value* metadata = pod == nullptr ? nullptr : pod->find("metadata");
    Value* labels = metadata == nullptr ? nullptr : metadata->find("labels");
    // Only where the map exists already: so MCAD does, and users of Ray clusters write the label
    // themselves.
    if (labels != nullptr && labels->is_object()) mark(*labels);
    return object;
}

Value owner_of(const Value& appwrapper) {
    const Value& metadata = appwrapper["metadata"];
    return Value::object({{"apiVersion", appwrapper["apiVersion"]},
                          {"kind", "AppWrapper"},
                          {"name", metadata["name"]},
                          {"uid", metadata["uid"]},
                          {"controller", true},
                          {"blockOwnerDeletion", true}});
}

}  // namespace

bool is_v1beta1(const Value& appwrapper) {
    return !appwrapper["spec"].has("components");
}

std::vector<PodDemand> demand_of(const Value& appwrapper) {
    std::vector<PodDemand> demand;
    int number = 0;
    for (const Value& item : appwrapper["spec"]["resources"]["GenericItems"].items()) {
        const std::string name = "item-" + std::to_string(number++);
        const Value& declared = item["custompodresources"];
        int entry = 0;
        for (const Value& pods : declared.items()) {
            demand.push_back({name + "-" + std::to_string(entry++), pods["replicas"].integer_or(1),
                              stand_in(pods["requests"], pods["limits"])});
        }
        if (declared.empty()) infer(demand, name, item["generictemplate"]);
    }
    apply_node_selector(demand, appwrapper["spec"]["schedulingSpec"]["nodeSelector"]);
    return demand;
}

Items items_of(const Value& appwrapper) {
    Items found;
    const std::string ns = appwrapper["metadata"]["namespace"].text();
    const std::string wrapper = appwrapper["metadata"]["name"].text();
    const Value owner = owner_of(appwrapper);
    int number = 0;
    for (const Value& item : appwrapper["spec"]["resources"]["GenericItems"].items()) {
        const std::string place =
            "spec.resources.GenericItems[" + std::to_string(number++) + "].generictemplate";
        Value object = item["generictemplate"];
        const std::string api_version = object["apiVersion"].text();
        const api::Kind* kind = api::find_known_kind_named(
            api::parse_group_version(api_version).group, object["kind"].text_or(""));
        std::string name = object["metadata"]["name"].text();
        const std::string its_ns = object["metadata"]["namespace"].text();
        if (kind == nullptr || !kind->namespaced) {
            found.problem = {place + ": \"" + object["kind"].text() + "\" in \"" + api_version +
                             "\" is no namespaced kind that this server has"};
        } else if (gives_rights(*kind)) {
            found.problem = {place + ": " + gives_rights_fault};
        } else if (!its_ns.empty() && its_ns != ns) {
            found.problem = {place + ": namespace \"" + its_ns +
                             "\" is not the AppWrapper's own, \"" + ns + "\""};
        } else if (name.empty()) {
            name = object["metadata"]["generateName"].text() +
                   derived_suffix(appwrapper["metadata"]["uid"].text(), place);
        }
        if (found.problem) return found;
        if (name.size() > name_max) name.resize(name_max);
        object.at("metadata").set("name", name);
        object.at("metadata").set("namespace", ns);
        object.at("metadata").set("ownerReferences", Value::array({owner}));
        const api::Key key{kind->resource(), ns, name};
        const bool twice = std::any_of(found.items.begin(), found.items.end(),
                                       [&](const Item& other) { return other.key == key; });
        if (twice) {
            found.problem = {place + ": " + to_text(key) + " stands in the AppWrapper twice"};
            return found;
        }
        Item made{key, api_version, labelled(std::move(object), wrapper, name), {}};
        const std::string completion = item["completionstatus"].text();
        for (const std::string_view word : split(completion, ',')) {
            if (!trim(word).empty()) made.completion.emplace_back(trim(word));
        }
        found.items.push_back(std::move(made));
    }
    return found;
}

}  // namespace muster::control::appwrapper
