// control/appwrapper/items.cpp - reading GenericItems.
#include "control/appwrapper/items.h"

#include <algorithm>

#include "base/text.h"
#include "control/fold_pod.h"
#include "control/owner.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"

namespace muster::control::appwrapper {
namespace {

using api::Value;

Value declared_template(const Value& resources) {
    Value amounts = Value::object();
    for (const char* part : {"requests", "limits"}) {
        if (!resources[part].empty()) amounts.set(part, resources[part]);
    }
    const Value container = Value::object({{"name", "declared"}, {"resources", amounts}});
    return Value::object({{"spec", Value::object({{"containers", Value::array({container})}})}});
}

struct Found {
    std::int64_t count = 1;
    Value pod_template;
};

std::vector<Found> declared_pods(const Value& item) {
    std::vector<Found> found;
    for (const Value& resources : item["custompodresources"].items())
        found.push_back({resources["replicas"].integer_or(1), declared_template(resources)});
    return found;
}

/// Pods of kinds that are known, and of anything with a pod template in the usual place.
std::vector<Found> inferred_pods(const Value& object) {
    std::vector<Found> found;
    const Value& kind = object["kind"];
    if (kind.text_or("") == "Pod") {
        found.push_back({1, object});
        return found;
    }
    const queue::JobKind* known =
        queue::find_job_kind_named(object["apiVersion"].text_or(""), kind.text_or(""));
    if (known != nullptr && known->find_pod_sets == nullptr) {
        for (queue::PodSet& set : queue::pod_sets_of(*known, object))
            found.push_back({set.count, std::move(set.pod_template)});
    } else if (!object.path("spec.template.spec.containers").empty()) {
        found.push_back({object["spec"]["replicas"].integer_or(1), object["spec"]["template"]});
    }
    return found;
}

/// A pod set's name: a DNS label.
std::string pod_set_name(std::string_view wrapper, std::size_t number) {
    const std::string end = "-" + std::to_string(number);
    std::string name(wrapper.substr(0, 63 - end.size()));
    std::replace(name.begin(), name.end(), '.', '-');
    return name + end;
}

void set_label(Value& metadata, std::string_view label, std::string_view value) {
    metadata.at("labels").set(label, value);
}

}  // namespace

std::string cut_name(std::string_view name) {
    return std::string(name.substr(0, 63));
}

std::vector<WrappedPods> wrapped_pods(const Value& wrapper) {
    const std::string name = wrapper["metadata"]["name"].text();
    std::vector<WrappedPods> wrapped;
    for (const Value& item : wrapper["spec"]["resources"]["GenericItems"].items()) {
        std::vector<Found> found = item["custompodresources"].empty()
                                       ? inferred_pods(item["generictemplate"])
                                       : declared_pods(item);
        for (Found& pods : found) {
            if (pods.count <= 0) continue;
            wrapped.push_back(
                {pod_set_name(name, wrapped.size()), pods.count, std::move(pods.pod_template)});
        }
    }
    return wrapped;
}

std::vector<Item> items_of(const kube::Object& wrapper) {
    std::vector<Item> items;
    const std::string label = cut_name(wrapper.key.name);
    for (const Value& generic : wrapper.value["spec"]["resources"]["GenericItems"].items()) {
        Item item;
        item.body = generic["generictemplate"];
        if (!item.body.is_object()) continue;
        item.api_version = item.body["apiVersion"].text();
        item.completion_status = generic["completionstatus"].text();
        const std::string group = api::parse_group_version(item.api_version).group;
        item.kind = api::find_kind_named(group, item.body["kind"].text_or(""));
        std::string name = cut_name(item.body["metadata"]["name"].text_or(""));
        if (name.empty()) {
            name = cut_name(wrapper.key.name.substr(0, 57)) + "-" +
                   derived_suffix(wrapper.uid, std::to_string(items.size()));
        }
        item.key = {{group, item.kind != nullptr ? item.kind->plural : ""},
                    item.kind != nullptr && !item.kind->namespaced ? "" : wrapper.key.ns,
                    name};
        Value& metadata = item.body.at("metadata");
        metadata.set("name", name);
        if (!item.key.ns.empty()) metadata.set("namespace", item.key.ns);
        set_label(metadata, wrapper_label, label);
        set_label(metadata, resource_name_label, name);
        metadata.set("ownerReferences", Value::array({owner_reference(wrapper)}));
        if (item.body.path("spec.template.metadata.labels").is_object()) {
            Value& inner = queue::at_path(item.body, "spec.template.metadata");
            set_label(inner, wrapper_label, label);
            set_label(inner, resource_name_label, name);
        }
        items.push_back(std::move(item));
    }
    return items;
}

bool is_completed(const Item& item, const Value& object) {
    const Value& status = object["status"];
    for (std::string_view wanted : split(item.completion_status, ',')) {
        wanted = trim(wanted);
        if (wanted.empty()) continue;
        for (const Value& condition : status["conditions"].items()) {
            if (equal_ignoring_case(condition["type"].text_or(""), wanted) &&
                condition["status"].text_or("") == "True") {
                return true;
            }
        }
        for (const char* field : {"phase", "state", "jobStatus", "jobDeploymentStatus"}) {
            if (equal_ignoring_case(status[field].text_or(""), wanted)) return true;
        }
    }
    return false;
}

std::int64_t min_available(const Value& wrapper) {
    return wrapper["spec"]["schedulingSpec"]["minAvailable"].integer_or(0);
}

}  // namespace muster::control::appwrapper
