// control/queue/managed.cpp - the walk from a job to what made it.
#include "control/queue/managed.h"

#include "control/queue/integration.h"
#include "control/queue/names.h"

namespace muster::control::queue {

using api::Value;

std::string_view queue_name_of(const Value& object) {
    return object["metadata"]["labels"][queue_name_label].text_or("");
}

bool has_managed_ancestor(const Value& object, std::string_view ns, const FindObject& find) {
    constexpr int depth_max = 10;
    Value owner = controller_of(object);
    for (int depth = 0; depth < depth_max && !owner.is_null(); ++depth) {
        const JobKind* kind =
            find_job_kind_named(owner["apiVersion"].text_or(""), owner["kind"].text_or(""));
        if (kind == nullptr) return false;
        if (is_app_wrapper(kind->resource)) return true;
        const Value parent = find({kind->resource, std::string(ns), owner["name"].text()});
        if (parent["metadata"]["uid"].text_or("") != owner["uid"].text_or("")) return false;
        if (!queue_name_of(parent).empty()) return true;
        owner = controller_of(parent);
    }
    return false;
}

bool is_managed(const Value& object, std::string_view ns, const FindObject& find) {
    return !queue_name_of(object).empty() && !has_managed_ancestor(object, ns, find);
}

FindObject find_in(const kube::Cache& seen) {
    return [&seen](const api::Key& key) {
        const kube::ObjectPtr found = seen.find(key);
        return found != nullptr ? found->value : Value();
    };
}

}  // namespace muster::control::queue
