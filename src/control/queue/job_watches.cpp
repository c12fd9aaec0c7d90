// control/queue/job_watches.cpp - from pods, classes and Workloads to jobs.
#include "control/queue/job_watches.h"

#include <string>
#include <utility>

#include "control/fold_pod.h"
#include "control/queue/identifiers.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/pod_shape.h"

namespace muster::control::queue {

using api::Value;

std::vector<api::Key> jobs_above(const JobKind& kind, const kube::Cache& seen,
                                 const kube::Object* before, const kube::Object* after) {
    const bool is_gated = after != nullptr && has_gate(after->value, elastic_annotation);
    if (after != nullptr && !is_gated && !is_finished_pod(*after)) return {};
    Value owner = controller_of((after != nullptr ? after : before)->value);
    const std::string ns = (after != nullptr ? after : before)->key.ns;
    std::vector<api::Key> keys;
    constexpr int depth_max = 10;
    for (int depth = 0; depth < depth_max && !owner.is_null(); ++depth) {
        const JobKind* above =
            find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
        if (above == nullptr) break;
        api::Key key{above->resource, ns, owner["name"].text()};
        const kube::ObjectPtr object = seen.find(key);
        if (above == &kind) keys.push_back(std::move(key));
        if (object == nullptr) break;
        owner = controller_of(object->value);
    }
    // What stands between them may be gone before the pod: its annotation tells all the same.
    for (const auto& workload : workloads_of_pod(seen, after != nullptr ? *after : *before)) {
        const Value& job = controller_of(workload->value);
        const bool is_ours =
            find_job_kind_named(job["apiVersion"].text_or(""), job["kind"].text_or("")) == &kind;
        if (is_ours) keys.push_back({kind.resource, ns, job["name"].text()});
    }
    return keys;
}

std::vector<api::Key> jobs_of_class(const JobKind& kind, const kube::Cache& seen,
                                    const kube::Object* before, const kube::Object* after) {
    const std::string& name = (after != nullptr ? after : before)->key.name;
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& job : seen.list(kind.resource)) {
        const std::string_view label = job->label(priority_class_label);
        if (label == name || (label.empty() && name == "default")) keys.push_back(job->key);
    }
    return keys;
}

std::vector<api::Key> jobs_run_by(const JobKind& kind, const kube::Cache& seen,
                                  const kube::Object& object) {
    std::vector<api::Key> keys;
    for (const kube::ObjectPtr& job : seen.list(kind.resource)) {
        for (const std::string_view name : kind.names_of_runs_by(job->value)) {
            if (name == object.key.name) keys.push_back(job->key);
        }
    }
    return keys;
}

std::vector<api::Key> jobs_in_namespace(const api::GroupResource& kind, const JobRules& rules,
                                        const kube::Cache& seen, const kube::Object* before,
                                        const kube::Object* after) {
    const auto is_managed_one = [&](const kube::Object* ns) {
        return ns != nullptr &&
               manages_namespace(rules, ns->key.name, [&](const api::Key&) { return ns->value; });
    };
    std::vector<api::Key> keys;
    if (after == nullptr || is_managed_one(before) == is_managed_one(after)) return keys;
    for (const kube::ObjectPtr& job : seen.list(kind, after->key.name))
        keys.push_back(job->key);
    return keys;
}

std::vector<api::Key> jobs_of_prebuilt(const JobKind& kind, const kube::Cache& seen,
                                       const kube::Object* workload) {
    std::vector<api::Key> keys;
    if (workload == nullptr || !controller_of(workload->value).is_null()) return keys;
    for (const kube::ObjectPtr& job :
         seen.by_index(kind.resource, workload->key.ns, prebuilt_of, workload->key.name)) {
        keys.push_back(job->key);
    }
    return keys;
}

}  // namespace muster::control::queue
