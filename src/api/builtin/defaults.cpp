// api/builtin/defaults.cpp - defaults of the built-in kinds that depend on other fields, as
// Kubernetes fills them.
#include "api/builtin/fill.h"
#include "api/builtin/validation.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// The items of a list member; none when it is not a list.
Value::Array& items_of(Value& object, std::string_view key) {
    static Value::Array none;
    Value* list = object.find(key);
    if (list == nullptr || !list->is_array()) {
        none.clear();
        return none;
    }
    return list->mutable_items();
}

/// ":latest", or no tag and no digest, is pulled always.
const char* pull_policy_of(std::string_view image) {
    if (image.find('@') != std::string_view::npos) return "IfNotPresent";
    const std::size_t slash = image.rfind('/');
    const std::size_t colon = image.rfind(':');
    const bool tagged =
        colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
    return !tagged || image.substr(colon + 1) == "latest" ? "Always" : "IfNotPresent";
}

void default_http_get(Value& handler) {
    Value* get = object_in(handler, "httpGet");
    if (get == nullptr) return;
    fill_empty_text(*get, "path", "/");
    fill_empty_text(*get, "scheme", "HTTP");
}

void default_probe(Value& container, std::string_view name) {
    Value* probe = object_in(container, name);
    if (probe == nullptr) return;
    default_http_get(*probe);
    static constexpr std::pair<std::string_view, int> counts[] = {{"timeoutSeconds", 1},
                                                                  {"periodSeconds", 10},
                                                                  {"successThreshold", 1},
                                                                  {"failureThreshold", 3}};
    for (const auto& [key, count] : counts) {
        if ((*probe)[key].integer_or(0) == 0) probe->set(key, count);
    }
}

void default_field_ref(Value& holder) {
    if (Value* ref = object_in(holder, "fieldRef")) fill_empty_text(*ref, "apiVersion", "v1");
}

void default_container(Value& container) {
    if (!container.is_object()) return;
    fill_empty_text(container, "imagePullPolicy", pull_policy_of(container["image"].text_or("")));
    fill_empty_text(container, "terminationMessagePath", "/dev/termination-log");
    fill_empty_text(container, "terminationMessagePolicy", "File");
    fill(container, "resources", Value::object());
    for (Value& port : items_of(container, "ports")) {
        if (port.is_object()) fill_empty_text(port, "protocol", "TCP");
    }
    for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"}) {
        default_probe(container, probe);
    }
    if (Value* lifecycle = object_in(container, "lifecycle")) {
        for (const char* hook : {"postStart", "preStop"}) {
            if (Value* handler = object_in(*lifecycle, hook)) default_http_get(*handler);
        }
    }
    for (Value& variable : items_of(container, "env")) {
        if (Value* from = object_in(variable, "valueFrom")) default_field_ref(*from);
    }
}

constexpr int default_mode = 0644;

void default_projected(Value& projected) {
    fill(projected, "defaultMode", default_mode);
    for (Value& source : items_of(projected, "sources")) {
        if (Value* token = object_in(source, "serviceAccountToken")) {
            fill(*token, "expirationSeconds", 3600);
        }
        if (Value* downward = object_in(source, "downwardAPI")) {
            for (Value& item : items_of(*downward, "items"))
                default_field_ref(item);
        }
    }
}

void default_volume(Value& volume) {
    if (!volume.is_object()) return;
    bool has_source = false;
    for (const Value::Member& member : volume.members()) {
        has_source = has_source || (member.key != "name" && !member.value.is_null());
    }
    if (!has_source) volume.set("emptyDir", Value::object());
    for (const char* source : {"configMap", "secret", "downwardAPI"}) {
        if (Value* found = object_in(volume, source)) fill(*found, "defaultMode", default_mode);
    }
    if (Value* downward = object_in(volume, "downwardAPI")) {
        for (Value& item : items_of(*downward, "items"))
            default_field_ref(item);
    }
    if (Value* projected = object_in(volume, "projected")) default_projected(*projected);
    if (Value* path = object_in(volume, "hostPath")) fill(*path, "type", "");
}

/// A limit without a request is also the request (pods only, not templates).
void default_requests(Value& container) {
    Value* resources = object_in(container, "resources");
    if (resources == nullptr || !(*resources)["limits"].is_object()) return;
    const Value limits = (*resources)["limits"];
    for (const Value::Member& limit : limits.members()) {
        fill(fill(*resources, "requests", Value::object()), limit.key, limit.value);
    }
}

Value& labels_of(Value& object) {
    return fill(fill(object, "metadata", Value::object()), "labels", Value::object());
}

/// The selector and labels that tie a job to its pods.
void generate_job_selector(Value& job, Value& spec) {
    const std::string uid = job["metadata"]["uid"].text();
    if (uid.empty() || spec["manualSelector"].boolean_or(false)) return;
    Value& labels = labels_of(fill(spec, "template", Value::object()));
    for (const char* key : {"batch.kubernetes.io/controller-uid", "controller-uid"}) {
        fill(labels, key, uid);
    }
    for (const char* key : {"batch.kubernetes.io/job-name", "job-name"}) {
        fill(labels, key, job["metadata"]["name"]);
    }
    Value match = Value::object({{"batch.kubernetes.io/controller-uid", uid}});
    fill(spec, "selector", Value::object({{"matchLabels", std::move(match)}}));
}

}  // namespace

void default_pod_spec(Value& spec) {
    if (!spec.is_object()) return;
    fill_empty_text(spec, "restartPolicy", "Always");
    fill_empty_text(spec, "dnsPolicy", "ClusterFirst");
    fill_empty_text(spec, "schedulerName", "default-scheduler");
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "securityContext", Value::object());
    if (!spec["serviceAccountName"].text_or("").empty()) {
        spec.set("serviceAccount", spec["serviceAccountName"]);
    } else if (!spec["serviceAccount"].text_or("").empty()) {
        spec.set("serviceAccountName", spec["serviceAccount"]);
    }
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
        for (Value& container : items_of(spec, list))
            default_container(container);
    }
    for (Value& volume : items_of(spec, "volumes"))
        default_volume(volume);
    if (!spec["hostNetwork"].boolean_or(false)) return;
    for (Value& container : items_of(spec, "containers")) {
        for (Value& port : items_of(container, "ports")) {
            if (port.is_object()) fill(port, "hostPort", port["containerPort"]);
        }
    }
}

void default_pod(Value& pod) {
    fill_condition_times(pod, {"lastProbeTime", "lastTransitionTime"});
    Value* spec = object_in(pod, "spec");
    if (spec == nullptr) return;
    default_pod_spec(*spec);
    fill(*spec, "enableServiceLinks", true);
    for (const char* list : {"containers", "initContainers"}) {
        for (Value& container : items_of(*spec, list))
            default_requests(container);
    }
}

void default_job(Value& job) {
    fill_condition_times(job, {"lastProbeTime", "lastTransitionTime"});
    Value* spec = object_in(job, "spec");
    if (spec == nullptr) return;
    if ((*spec)["completions"].is_null() && (*spec)["parallelism"].is_null()) {
        spec->set("completions", 1);
    }
    fill(*spec, "parallelism", 1);
    if ((*spec)["backoffLimitPerIndex"].is_null()) {
        fill(*spec, "backoffLimit", 6);
    } else {
        fill(*spec, "backoffLimit", 2147483647);
    }
    fill(*spec, "manualSelector", false);
    fill_empty_text(*spec, "completionMode", "NonIndexed");
    fill(*spec, "suspend", false);
    fill_empty_text(*spec, "podReplacementPolicy",
                    (*spec)["podFailurePolicy"].is_null() ? "TerminatingOrFailed" : "Failed");
    generate_job_selector(job, *spec);
    const Value labels = (*spec)["template"]["metadata"]["labels"];
    if (labels.is_object() && job["metadata"]["labels"].empty()) {
        if (Value* metadata = object_in(job, "metadata")) metadata->set("labels", labels);
    }
    Value* pod_template = object_in(*spec, "template");
    if (pod_template == nullptr) return;
    if (Value* pod_spec = object_in(*pod_template, "spec")) default_pod_spec(*pod_spec);
}

void default_service(Value& service) {
    Value* spec = object_in(service, "spec");
    if (spec == nullptr) return;
    fill_empty_text(*spec, "type", "ClusterIP");
    fill_empty_text(*spec, "sessionAffinity", "None");
    const std::string_view affinity = (*spec)["sessionAffinity"].text_or("");
    if (affinity == "None") spec->erase("sessionAffinityConfig");
    if (affinity == "ClientIP" &&
        (*spec)["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].is_null()) {
        Value client = Value::object({{"timeoutSeconds", 10800}});
        spec->set("sessionAffinityConfig", Value::object({{"clientIP", std::move(client)}}));
    }
    for (Value& port : items_of(*spec, "ports")) {
        if (!port.is_object()) continue;
        fill_empty_text(port, "protocol", "TCP");
        const Value& target = port["targetPort"];
        const bool unset = target.is_null() || target.integer_or(1) == 0 ||
                           (target.is_string() && target.as_string().empty());
        if (unset) port.set("targetPort", port["port"]);
    }
    if ((*spec)["type"].text_or("") == "ExternalName") return;
    fill_empty_text(*spec, "internalTrafficPolicy", "Cluster");
    const std::string type = (*spec)["type"].text();
    if (type == "NodePort" || type == "LoadBalancer" ||
        (type == "ClusterIP" && !(*spec)["externalIPs"].empty())) {
        fill_empty_text(*spec, "externalTrafficPolicy", "Cluster");
    }
    if (type == "LoadBalancer" && (*spec)["allocateLoadBalancerNodePorts"].is_null())
        spec->set("allocateLoadBalancerNodePorts", true);
}

void default_node(Value& node) {
    fill_condition_times(node, {"lastHeartbeatTime", "lastTransitionTime"});
}

void default_namespace(Value& ns) {
    fill_condition_times(ns, {"lastTransitionTime"});
    labels_of(ns).set("kubernetes.io/metadata.name", ns["metadata"]["name"]);
    fill(ns, "spec", Value::object());
    if (Value* status = object_in(ns, "status")) fill_empty_text(*status, "phase", "Active");
}

void default_secret(Value& secret) {
    fill_empty_text(secret, "type", "Opaque");
    const Value plain = secret["stringData"];
    for (const Value::Member& entry : plain.members()) {
        fill(secret, "data", Value::object()).set(entry.key, to_base64(entry.value.text_or("")));
    }
    secret.erase("stringData");
}

void default_role_binding(Value& binding) {
    const char* group = "rbac.authorization.k8s.io";
    Value& role = fill(binding, "roleRef", Value::object());
    if (role.is_object()) fill_empty_text(role, "apiGroup", group);
    for (Value& subject : items_of(binding, "subjects")) {
        if (!subject.is_object()) continue;
        const std::string_view kind = subject["kind"].text_or("");
        if (kind == "User" || kind == "Group") fill_empty_text(subject, "apiGroup", group);
    }
}

void default_priority_class(Value& priority_class) {
    fill_empty_text(priority_class, "preemptionPolicy", "PreemptLowerPriority");
}

Value convert_event(Value event, std::string_view to_version) {
    static constexpr std::pair<const char*, const char*> names[] = {
        {"involvedObject", "regarding"},
        {"message", "note"},
        {"source", "deprecatedSource"},
        {"firstTimestamp", "deprecatedFirstTimestamp"},
        {"lastTimestamp", "deprecatedLastTimestamp"},
        {"count", "deprecatedCount"},
        {"reportingComponent", "reportingController"}};
    const bool to_core = to_version == "v1";
    if (!event.is_object()) return event;
    for (Value::Member& member : event.mutable_members()) {
        for (const auto& [core, newer] : names) {
            if (member.key != (to_core ? newer : core)) continue;
            member.key = to_core ? core : newer;
            break;
        }
    }
    event.set("apiVersion", to_version);
    return event;
}

}  // namespace muster::api
