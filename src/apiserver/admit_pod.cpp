// apiserver/admit_pod.cpp - what a pod gets on its way in: priority, service account and its
// volume, limits of the namespace.
#include <algorithm>
#include <string>
#include <utility>

#include "apiserver/admit.h"
#include "apiserver/commit.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "base/quantity.h"

namespace muster::apiserver {
namespace {

using api::Value;

constexpr const char* account_path = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr int token_seconds = 3607;  // The odd number tells kubelets that it may be extended.
constexpr int volume_mode = 0644;
constexpr int lost_node_seconds = 300;

StatusError pod_forbidden(const Value& pod, const std::string& why) {
    return forbidden({"", "pods"}, pod["metadata"]["name"].text_or(""), why);
}

/// The class named, or the global default; null when there is none.
Value priority_class_of(Context& context, const Value& pod) {
    const api::Kind& kind = *api::find_kind("scheduling.k8s.io", "priorityclasses");
    const std::string name = pod["spec"]["priorityClassName"].text();
    if (!name.empty()) {
        Value found = newest_of(context, kind, "", name).object;
        if (found.is_null()) {
            throw pod_forbidden(pod, "no PriorityClass with name " + name + " was found");
        }
        return found;
    }
    if (context.default_priorities.empty()) return {};
    return newest_of(context, kind, "", *context.default_priorities.begin()).object;
}

void resolve_priority(Context& context, Value& pod) {
    const Value priority_class = priority_class_of(context, pod);
    const std::int64_t priority = priority_class["value"].integer_or(0);
    const std::string policy =
        std::string(priority_class["preemptionPolicy"].text_or("PreemptLowerPriority"));
    Value& spec = pod.at("spec");
    const Value& given = spec["priority"];
    if (given.is_integer() && given.as_integer() != priority) {
        throw pod_forbidden(pod,
                            "the integer value of priority (" + std::to_string(given.as_integer()) +
                                ") must not be provided in pod spec; priority admission "
                                "controller computed " +
                                std::to_string(priority) + " from the given PriorityClass name");
    }
    if (!priority_class.is_null()) {
        spec.set("priorityClassName", priority_class["metadata"]["name"]);
    }
    spec.set("priority", priority);
    if (spec["preemptionPolicy"].is_null()) spec.set("preemptionPolicy", policy);
}

/// The account, made now when it is "default" and the namespace is too young to have it.
Value service_account_of(Context& context, const std::string& ns, const Value& pod) {
    const api::Kind& kind = *api::find_kind("", "serviceaccounts");
    const std::string name = pod["spec"]["serviceAccountName"].text();
    Value account = newest_of(context, kind, ns, name).object;
    if (!account.is_null()) return account;
    if (name != "default") {
        throw pod_forbidden(pod, "error looking up service account " + ns + "/" + name +
                                     ": serviceaccount \"" + name + "\" not found");
    }
    account = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ServiceAccount"},
         {"metadata", Value::object({{"name", name},
                                     {"namespace", ns},
                                     {"uid", context.random.uuid()},
                                     {"creationTimestamp", to_rfc3339(context.loop.now())}})}});
    check_room(context, Purpose::write);
    commit_put(context, kind, account, 0, nullptr);
    return account;
}

Value token_volume(const std::string& name) {
    const Value token =
        Value::object({{"serviceAccountToken",
                        Value::object({{"expirationSeconds", token_seconds}, {"path", "token"}})}});
    const Value authority = Value::object(
        {{"configMap",
          Value::object({{"name", "kube-root-ca.crt"},
                         {"items", Value::array({Value::object(
                                       {{"key", "ca.crt"}, {"path", "ca.crt"}})})}})}});
    const Value field = Value::object({{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}});
    const Value ns = Value::object(
        {{"downwardAPI",
          Value::object({{"items", Value::array({Value::object(
                                       {{"path", "namespace"}, {"fieldRef", field}})})}})}});
    return Value::object(
        {{"name", name},
         {"projected", Value::object({{"defaultMode", volume_mode},
                                      {"sources", Value::array({token, authority, ns})}})}});
}

bool is_mounted(const Value& container) {
    for (const Value& mount : container["volumeMounts"].items()) {
        if (mount["mountPath"].text_or("") == account_path) return true;
    }
    return false;
}

/// Mounts the account's token, the authority and the namespace where clients look for them.
void mount_account(Context& context, Value& spec) {
    const std::string name = "kube-api-access-" + context.random.suffix(5);
    bool used = false;
    for (const char* list : {"initContainers", "containers"}) {
        if (!spec[list].is_array()) continue;
        for (Value& container : spec.at(list).mutable_items()) {
            if (!container.is_object() || is_mounted(container)) continue;
            container.at("volumeMounts")
                .push(Value::object(
                    {{"name", name}, {"mountPath", account_path}, {"readOnly", true}}));
            used = true;
        }
    }
    if (used) spec.at("volumes").push(token_volume(name));
}

void set_account(Context& context, const std::string& ns, Value& pod) {
    Value& spec = pod.at("spec");
    if (spec["serviceAccountName"].text_or("").empty()) spec.set("serviceAccountName", "default");
    spec.set("serviceAccount", spec["serviceAccountName"]);
    const Value account = service_account_of(context, ns, pod);
    if (spec["imagePullSecrets"].empty() && !account["imagePullSecrets"].empty()) {
        spec.set("imagePullSecrets", account["imagePullSecrets"]);
    }
    const bool wanted = spec["automountServiceAccountToken"].boolean_or(
        account["automountServiceAccountToken"].boolean_or(true));
    if (wanted) mount_account(context, spec);
}

void fill_from(const Value& defaults, std::string_view list, Value& container) {
    for (const auto& amount : defaults.members()) {
        Value& resources = container.at("resources");
        if (!resources[list].has(amount.key)) resources.at(list).set(amount.key, amount.value);
    }
}

/// Defaults of the namespace's LimitRanges for containers that say nothing.
void default_limits(Context& context, const std::string& ns, Value& pod) {
    const api::Kind* kind = api::find_kind("", "limitranges");
    if (kind == nullptr) return;
    for (const store::Entry& entry : context.store.range(key_prefix(*kind, ns), "", 100)) {
        const Value range = read_stored(*entry.value);
        for (const Value& limit : range["spec"]["limits"].items()) {
            if (limit["type"].text_or("") != "Container") continue;
            for (const char* list : {"initContainers", "containers"}) {
                if (!pod["spec"][list].is_array()) continue;
                for (Value& container : pod.at("spec").at(list).mutable_items()) {
                    if (!container.is_object()) continue;
                    fill_from(limit["defaultRequest"], "requests", container);
                    fill_from(limit["default"], "limits", container);
                }
            }
        }
    }
}

/// Labels that a node of the class must have, and the taints that it may have.
void schedule_as_class(const Value& scheduling, Value& pod) {
    for (const auto& [label, wanted] : scheduling["nodeSelector"].members()) {
        const Value& given = pod["spec"]["nodeSelector"][label];
        if (!given.is_null() && !(given == wanted)) {
            throw pod_forbidden(pod, "conflict: runtimeClass.scheduling.nodeSelector[" +
                                         std::string(label) + "] = " + wanted.text() +
                                         "; pod.spec.nodeSelector[" + std::string(label) +
                                         "] = " + given.text());
        }
        pod.at("spec").at("nodeSelector").set(label, wanted);
    }
    for (const Value& toleration : scheduling["tolerations"].items()) {
        const auto& present = pod["spec"]["tolerations"].items();
        if (std::find(present.begin(), present.end(), toleration) == present.end())
            pod.at("spec").at("tolerations").push(toleration);
    }
}

/// What the pod's runtime class adds to what it needs, and where it runs.
void follow_runtime_class(Context& context, Value& pod) {
    const std::string name = pod["spec"]["runtimeClassName"].text();
    if (name.empty()) return;
    const api::Kind& kind = *api::find_kind("node.k8s.io", "runtimeclasses");
    const Value found = newest_of(context, kind, "", name).object;
    if (found.is_null())
        throw pod_forbidden(pod, "pod rejected: RuntimeClass \"" + name + "\" not found");
    const Value& overhead = found["overhead"]["podFixed"];
    const Value& given = pod["spec"]["overhead"];
    if (!given.empty() && !(given == overhead)) {
        throw pod_forbidden(
            pod, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    }
    if (!overhead.empty()) pod.at("spec").set("overhead", overhead);
    schedule_as_class(found["scheduling"], pod);
}

/// Pods that say nothing of lost nodes stay there for five minutes, as in the reference.
void tolerate_lost_nodes(Value& spec) {
    for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
        bool spoken_of = false;
        for (const Value& toleration : spec["tolerations"].items()) {
            const std::string_view named = toleration["key"].text_or("");
            const std::string_view effect = toleration["effect"].text_or("");
            spoken_of = spoken_of || ((named.empty() || named == key) &&
                                      (effect.empty() || effect == "NoExecute"));
        }
        if (spoken_of) continue;
        spec.at("tolerations")
            .push(Value::object({{"key", key},
                                 {"operator", "Exists"},
                                 {"effect", "NoExecute"},
                                 {"tolerationSeconds", lost_node_seconds}}));
    }
}

}  // namespace

std::string quality_class(const Value& spec) {
    bool any = false;
    bool guaranteed = true;
    for (const char* list : {"initContainers", "containers"}) {
        for (const Value& container : spec[list].items()) {
            const Value& limits = container["resources"]["limits"];
            const Value& requests = container["resources"]["requests"];
            for (const char* resource : {"cpu", "memory"}) {
                const auto limit = Quantity::parse(limits[resource].text_or(""));
                const auto request = Quantity::parse(requests[resource].text_or(""));
                if ((limit && !limit->is_zero()) || (request && !request->is_zero())) any = true;
                if (!limit || limit->is_zero()) guaranteed = false;
                if (limit && request && !(*limit == *request)) guaranteed = false;
            }
        }
    }
    if (!any) return "BestEffort";
    return guaranteed ? "Guaranteed" : "Burstable";
}

void admit_pod(Context& context, Value& pod, const Value& old) {
    if (!old.is_null()) return;
    const std::string ns = pod["metadata"]["namespace"].text();
    if (!pod["spec"].is_object()) return;  // Validation will say so.
    default_limits(context, ns, pod);
    follow_runtime_class(context, pod);
    resolve_priority(context, pod);
    set_account(context, ns, pod);
    if (pod["spec"]["tolerations"].is_null() || pod["spec"]["tolerations"].is_array())
        tolerate_lost_nodes(pod.at("spec"));
    pod.at("status").set("qosClass", quality_class(pod["spec"]));
}

}  // namespace muster::apiserver
