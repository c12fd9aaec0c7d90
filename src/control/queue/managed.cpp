// control/queue/managed.cpp - the walk from a job to what made it.
#include "control/queue/managed.h"

#include "api/guest_kinds.h"
#include "base/text.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"

namespace muster::control::queue {

using api::Value;

std::string_view queue_name_of(const Value& object) {
    return object["metadata"]["labels"][queue_name_label].text_or("");
}

Above find_above(const Value& object, std::string_view ns, const FindObject& find) {
    Above above;
    Value owner = controller_of(object);
    for (int depth = 0; !owner.is_null(); ++depth) {
        if (depth == owners_max) {
            above.end = Above::End::too_deep;
            return above;
        }
        const std::string group = api::parse_group_version(owner["apiVersion"].text_or("")).group;
        const api::Kind* any = api::find_known_kind_named(group, owner["kind"].text_or(""));
        if (any == nullptr) return above;
        const JobKind* kind = find_job_kind(any->resource());
        api::Key key{any->resource(), std::string(ns), owner["name"].text()};
        Value parent = find(key);
        if (parent["metadata"]["uid"].text_or("") != owner["uid"].text_or("")) parent = {};
        const bool wraps = kind != nullptr && is_app_wrapper(kind->resource);
        const bool queues =
            kind != nullptr && !queue_name_of(parent).empty() && !is_left_alone(*kind, parent);
        if (wraps || queues) {
            above.managed = std::move(key);
            above.object = parent;
        }
        owner = controller_of(parent);
    }
    return above;
}

bool is_left_alone(const JobKind& kind, const Value& object) {
    return kind.is_left_alone != nullptr && kind.is_left_alone(object);
}

bool is_managed(const Value& object, std::string_view ns, const FindObject& find) {
    return !queue_name_of(object).empty() && find_above(object, ns, find).managed.name.empty();
}

bool is_made_by_job(const Value& object) {
    const Value owner = controller_of(object);
    return find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or("")) !=
           nullptr;
}

std::string framework_of(const api::GroupResource& resource, std::string_view kind) {
    const std::string name = to_lower(kind);
    if (resource == old_app_wrappers) return framework_of(app_wrappers, kind);
    if (resource.group.empty() || resource.group == "apps") return name;
    return resource.group + "/" + name;
}

bool manages(const JobRules& rules, const JobKind& kind) {
    return !rules.frameworks || rules.frameworks->contains(framework_of(kind.resource, kind.kind));
}

bool manages_namespace(const JobRules& rules, std::string_view ns, const FindObject& find) {
    const Value found = find({namespaces, "", std::string(ns)});
    decide::Labels labels;
    for (const auto& [name, value] : found["metadata"]["labels"].members())
        labels[name] = value.text();
    labels.try_emplace("kubernetes.io/metadata.name", ns);
    return matches(rules.namespaces, labels);
}

bool serves(const JobKind& kind) {
    return kind.start == JobKind::Start::ungated || kind.start == JobKind::Start::by_pods;
}

bool takes_part_unlabelled(const JobRules& rules, const JobKind& kind) {
    return !serves(kind) || (rules.frameworks && manages(rules, kind));
}

bool must_find_queue(const JobRules& rules, const JobKind& kind, const Value& object,
                     std::string_view ns, const FindObject& find) {
    return rules.unlabelled == JobRules::Unlabelled::managed &&
           takes_part_unlabelled(rules, kind) && queue_name_of(object).empty() &&
           !is_left_alone(kind, object) && !is_made_by_job(object) &&
           find_above(object, ns, find).managed.name.empty();
}

FindObject find_in(const kube::Cache& seen) {
    return [&seen](const api::Key& key) {
        const kube::ObjectPtr found = seen.find(key);
        return found != nullptr ? found->value : Value();
    };
}

}  // namespace muster::control::queue
