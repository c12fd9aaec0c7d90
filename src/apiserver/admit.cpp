// apiserver/admit.cpp - the chain of admission: built-in steps by kind, then the hooks.
#include "apiserver/admit.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/denial.h"
#include "apiserver/commit.h"
#include "apiserver/definitions.h"
#include "apiserver/metadata.h"
#include "apiserver/read.h"
#include "apiserver/stored.h"
#include "apiserver/token_secret.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Operation = api::AdmissionRequest::Operation;

bool is_core(const api::Kind& kind, std::string_view plural) {
    return kind.group.empty() && kind.plural == plural;
}

bool is_priority_class(const api::Kind& kind) {
    return kind.plural == "priorityclasses" && kind.group == "scheduling.k8s.io";
}

/// A PriorityClass that shall be the default must be the only one.
void check_global_default(const Context& context, const api::Kind& kind,
                          const Value& priority_class) {
    if (!priority_class["globalDefault"].boolean_or(false)) return;
    const std::string name = priority_class["metadata"]["name"].text();
    for (const std::string& other : context.default_priorities) {
        if (other == name) continue;
        throw forbidden(
            kind.resource(), name,
            "PriorityClass " + other + " is already marked as default. Only one default can exist");
    }
}

void check_removal(const api::Kind& kind, const Value& old) {
    const std::string name = old["metadata"]["name"].text();
    const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is_core(kind, "namespaces") && is_one_of({"default", "kube-system", "kube-public"})) {
        throw forbidden(kind.resource(), name, "this namespace may not be deleted");
    }
    if (is_priority_class(kind) && is_one_of({"system-cluster-critical", "system-node-critical"})) {
        throw forbidden(kind.resource(), name,
                        "this is a system priority class and cannot be deleted");
    }
}

void admit_built_in(Context& context, const Exchange& exchange, const api::Kind& kind,
                    Operation operation, std::string_view subresource, Value& object,
                    const Value& old) {
    if (operation == Operation::remove) {
        check_removal(kind, old);
        return;
    }
    if (!subresource.empty()) return;
    if (is_core(kind, "pods")) admit_pod(context, object, old);
    if (kind.group == "rbac.authorization.k8s.io") {
        admit_rbac(context, exchange, kind, object, old);
    }
    if (is_priority_class(kind)) check_global_default(context, kind, object);
}

/// Newest objects of a resource, staged writes to visible ones included.
std::vector<Value> list_newest(Context& context, const api::GroupResource& resource,
                               std::string_view ns) {
    std::vector<Value> objects;
    const api::Kind* kind = context.kinds.find(resource.group, resource.plural);
    if (kind == nullptr) return objects;
    constexpr std::size_t all = 1u << 30;
    for (const store::Entry& entry : context.store.range(key_prefix(*kind, ns), "", all)) {
        const auto [object_ns, name] = place_of(entry.key);
        Newest newest = newest_of(context, *kind, object_ns, name);
        if (!newest.object.is_null()) objects.push_back(std::move(newest.object));
    }
    return objects;
}

api::AdmissionRequest request_of(Context& context, const Exchange& exchange, const api::Kind& kind,
                                 Operation operation, std::string_view subresource) {
    api::AdmissionRequest request;
    request.operation = operation;
    request.kind = &kind;
    request.kinds = &context.kinds;
    request.version = kind.stored_as.empty() ? kind.storage : "v1";
    request.subresource = subresource;
    request.user = exchange.user.name;
    request.groups = exchange.user.groups;
    request.now = context.loop.now();
    request.find = [&context](const api::Key& key) {
        const api::Kind* wanted = context.kinds.find(key.resource.group, key.resource.plural);
        return wanted == nullptr ? Value() : newest_of(context, *wanted, key.ns, key.name).object;
    };
    request.list = [&context](const api::GroupResource& resource, std::string_view ns) {
        return list_newest(context, resource, ns);
    };
    request.allowed = [&context, &exchange](std::string_view verb,
                                            const api::GroupResource& resource,
                                            std::string_view ns) {
        Attributes attributes;
        attributes.verb = verb;
        attributes.group = resource.group;
        attributes.resource = resource.plural;
        attributes.ns = ns;
        return context.rbac.allows(exchange.user, attributes);
    };
    return request;
}

bool makes_pods(const api::Kind& kind) {
    return (kind.group == "apps" && kind.plural == "deployments") ||
           (kind.group == "batch" && kind.plural == "jobs");
}

/// What is in a namespace holds it: its controller takes this finalizer away once it is empty.
void hold_namespace(Value& ns) {
    Value& finalizers = ns.at("spec").at("finalizers");
    if (!finalizers.is_array()) finalizers = Value::array();
    for (const Value& each : finalizers.items()) {
        if (each.text_or("") == "kubernetes") return;
    }
    finalizers.push("kubernetes");
}

}  // namespace

StatusError refused_by_webhook(const api::Admission::Denial& denied) {
    return {denied.reason,
            "admission webhook \"" + denied.webhook + "\" denied the request: " + denied.text,
            api::details_with(denied.causes)};
}

void warn_of_host_name(Exchange& exchange, const api::Kind& kind, std::string_view name) {
    const bool is_pod = is_core(kind, "pods");
    static constexpr std::string_view others[] = {"replicasets", "replicationcontrollers",
                                                  "cronjobs"};
    const bool in_names = makes_pods(kind) || std::find(std::begin(others), std::end(others),
                                                        kind.plural) != std::end(others);
    if (!is_pod && !in_names) return;
    std::string problems;
    constexpr std::size_t label_max = 63;
    if (name.size() > label_max) problems = "must be no more than 63 characters";
    if (name.find('.') != std::string_view::npos)
        problems += std::string(problems.empty() ? "" : " ") + "must not contain dots";
    if (problems.empty()) return;
    exchange.warnings.push_back(std::string("metadata.name: this is used in ") +
                                (is_pod ? "the Pod's hostname" : "Pod names and hostnames") +
                                ", which can result in surprising behavior; a DNS label is "
                                "recommended: [" +
                                problems + "]");
}

void warn_of_finalizers(Exchange& exchange, const api::Kind& kind, const Value& object,
                        const Value& old) {
    if (!kind.custom) return;
    std::set<std::string> added;
    for (const Value& each : object["metadata"]["finalizers"].items())
        added.insert(each.text());
    for (const Value& each : old["metadata"]["finalizers"].items())
        added.erase(each.text());
    for (const std::string& name : added) {
        if (name.find('/') != std::string::npos || is_standard_finalizer(name)) continue;
        const bool has_domain = name.find('.') != std::string::npos;
        exchange.warnings.push_back("metadata.finalizers: \"" + name +
                                    "\": prefer a domain-qualified finalizer name " +
                                    (has_domain ? "including a path (/) " : "") +
                                    "to avoid accidental conflicts with other finalizer writers");
    }
}

void check_namespace(Context& context, const Exchange& exchange, std::string_view ns,
                     std::string_view name) {
    const auto found = context.namespaces.find(ns);
    if (found == context.namespaces.end()) throw not_found({"", "namespaces"}, ns);
    if (!found->second) return;
    const std::string text = std::string(ns);
    throw forbidden(
        exchange.kind->resource(), name,
        "unable to create new content in namespace " + text + " because it is being terminated",
        {{"NamespaceTerminating", "metadata.namespace",
          "namespace " + text + " is being terminated"}});
}

std::optional<api::Admission::Denial> admit(Context& context, Exchange& exchange,
                                            const api::Kind& kind, Operation operation,
                                            std::string_view subresource, Value& object,
                                            const Value& old) {
    admit_built_in(context, exchange, kind, operation, subresource, object, old);
    if (context.hooks.empty()) return std::nullopt;
    std::optional<api::Admission::Denial> refused;
    api::AdmissionRequest request = request_of(context, exchange, kind, operation, subresource);
    request.object = std::move(object);
    request.old = old;
    for (const api::AdmissionHook& hook : context.hooks) {
        api::Admission answer = hook(request);
        for (std::string& warning : answer.warnings) {
            exchange.warnings.push_back(std::move(warning));
        }
        if (answer.denied) {
            const Value& named = request.object.is_null() ? old : request.object;
            const std::string name = named["metadata"]["name"].text();
            const auto& denied = *answer.denied;
            if (api::is_validating(denied)) {
                refused = denied;
                break;
            }
            if (!denied.webhook.empty()) throw refused_by_webhook(denied);
            if (denied.reason == Reason::invalid) throw invalid(kind, name, denied.causes);
            if (denied.reason == Reason::forbidden) {
                throw forbidden(kind.resource(), name, denied.text, denied.causes);
            }
            throw StatusError(denied.reason, denied.text);
        }
        if (answer.changed) request.object = std::move(*answer.changed);
    }
    object = std::move(request.object);
    return refused;
}

void allot(Context& context, const api::Kind& kind, std::string_view subresource, Value& object,
           const Value& old) {
    if (!subresource.empty()) return;
    if (is_core(kind, "services")) admit_service(context, kind, object, old);
    if (is_core(kind, "secrets")) fill_token_secret(context, object);
    if (is_definition(kind)) set_definition_status(context, object);
}

bool is_past(const Context& context, const api::Kind& kind, std::string_view subresource,
             const Value& object, const Value& old) {
    if (!subresource.empty()) return false;
    if (is_priority_class(kind)) check_global_default(context, kind, object);
    if (is_core(kind, "services")) return has_lost_addresses(context, object, old);
    return is_definition(kind) && has_other_names(context, object, old);
}

bool keeps_first_status(const api::Kind& kind) {
    return is_core(kind, "nodes");
}

void reset_status(const api::Kind& kind, Value& object) {
    if (keeps_first_status(kind) || !kind.has_status) return;
    if (is_core(kind, "pods")) {
        Value status = Value::object({{"phase", "Pending"}});
        if (!object["spec"]["schedulingGates"].empty()) {
            const Value gated = Value::object(
                {{"type", "PodScheduled"},
                 {"status", "False"},
                 {"lastProbeTime", nullptr},
                 {"lastTransitionTime", object["metadata"]["creationTimestamp"]},
                 {"reason", "SchedulingGated"},
                 {"message", "Scheduling is blocked due to non-empty scheduling gates"}});
            status.set("conditions", Value::array({gated}));
        }
        status.set("qosClass", quality_class(object["spec"]));
        object.set("status", std::move(status));
    } else if (is_core(kind, "namespaces")) {
        object.set("status", Value::object({{"phase", "Active"}}));
        hold_namespace(object);
    } else if (is_core(kind, "services")) {
        object.set("status", Value::object({{"loadBalancer", Value::object()}}));
    } else if (makes_pods(kind)) {
        object.set("status", Value::object());
    } else if (kind.group == "kueue.x-k8s.io" && kind.plural == "localqueues") {
        // Nothing can be in a queue that was not there: its columns are true from the start.
        object.set("status", Value::object({{"pendingWorkloads", 0},
                                            {"reservingWorkloads", 0},
                                            {"admittedWorkloads", 0}}));
    } else {
        object.erase("status");
    }
}

}  // namespace muster::apiserver
