// api/builtin/validation.cpp - what Kubernetes refuses in nodes, config maps, secrets, roles and
// priority classes.
#include "api/builtin/validation.h"

#include <set>
#include <string>

#include "api/field_error.h"
#include "api/label_rules.h"
#include "api/quantity_fields.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

constexpr std::int64_t data_bytes_max = 1024 * 1024;

/// Keys and sizes of `data` (of secrets in base64) and of `binaryData`.
void check_data(const Value& object, FieldErrors& errors) {
    std::size_t bytes = 0;
    const Path root;
    const bool secret = object["kind"].text_or("") == "Secret";
    for (const char* part : {"data", "binaryData"}) {
        const Path path = root.child(part);
        const bool encoded = secret || std::string_view(part) == "binaryData";
        for (const Value::Member& entry : object[part].members()) {
            add_invalid(errors, path.key(entry.key), Value(entry.key),
                        config_map_key_faults(entry.key));
            const std::size_t size = entry.value.text_or("").size();
            bytes += encoded ? size / 4 * 3 : size;
        }
    }
    if (bytes > static_cast<std::size_t>(data_bytes_max)) {
        FieldError error = too_long(root.child("data"), data_bytes_max);
        if (!secret) error.field = "[]";  // As the reference names the whole of a ConfigMap.
        errors.push_back(std::move(error));
    }
}

void check_frozen(const Value& object, const Value& old, const std::vector<const char*>& parts,
                  FieldErrors& errors) {
    if (!old["immutable"].boolean_or(false)) return;
    const Path root;
    if (!object["immutable"].boolean_or(false)) {
        errors.push_back(
            forbidden(root.child("immutable"), "field is immutable when `immutable` is set"));
    }
    for (const char* part : parts) {
        if (object[part] == old[part]) continue;
        errors.push_back(forbidden(root.child(part), "field is immutable when `immutable` is set"));
    }
}

/// Keys that a secret of a type must have.
struct SecretType {
    std::string_view type;
    std::vector<const char*> keys;
};

const std::vector<SecretType>& secret_types() {
    static const std::vector<SecretType> all = {
        {"kubernetes.io/dockercfg", {".dockercfg"}},
        {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}},
        {"kubernetes.io/ssh-auth", {"ssh-privatekey"}},
        {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
    };
    return all;
}

void check_rule(const Value& rule, const Path& path, bool cluster, FieldErrors& errors) {
    if (rule["verbs"].empty()) {
        errors.push_back(required(path.child("verbs"), "verbs must contain at least one value"));
    }
    if (!rule["nonResourceURLs"].empty()) {
        if (!cluster) {
            errors.push_back(invalid(path.child("nonResourceURLs"), rule["nonResourceURLs"],
                                     "namespaced rules cannot apply to non-resource URLs"));
        }
        if (!rule["apiGroups"].empty() || !rule["resources"].empty()) {
            errors.push_back(invalid(path.child("nonResourceURLs"), rule["nonResourceURLs"],
                                     "rules cannot apply to both regular resources and "
                                     "non-resource URLs"));
        }
        return;
    }
    if (rule["apiGroups"].empty()) {
        errors.push_back(
            required(path.child("apiGroups"), "resource rules must supply at least one api group"));
    }
    if (rule["resources"].empty()) {
        errors.push_back(
            required(path.child("resources"), "resource rules must supply at least one resource"));
    }
}

void check_subject(const Value& subject, const Path& path, FieldErrors& errors) {
    static const std::vector<std::string> kinds = {"ServiceAccount", "User", "Group"};
    if (subject["name"].text_or("").empty()) errors.push_back(required(path.child("name")));
    const std::string_view kind = subject["kind"].text_or("");
    if (kind == "ServiceAccount") {
        if (!subject["name"].text_or("").empty()) {
            add_invalid(errors, path.child("name"), subject["name"],
                        dns1123_subdomain_faults(subject["name"].as_string()));
        }
        if (subject["namespace"].text_or("").empty()) {
            errors.push_back(required(path.child("namespace")));
        }
    } else if (kind != "User" && kind != "Group") {
        errors.push_back(not_supported(path.child("kind"), subject["kind"], kinds));
    }
}

}  // namespace

FieldErrors validate_node(const Value& node, const Value*) {
    FieldErrors errors;
    const Path root;
    const Path spec = root.child("spec");
    // They are named so in the reference.
    const Path metadata = root.child("metadata");
    check_taints(node["spec"]["taints"], metadata.child("taints"), errors);
    const Value& range = node["spec"]["podCIDR"];
    if (!range.text_or("").empty() && range.as_string().find('/') == std::string::npos) {
        const Path ranges = spec.child("podCIDRs");
        errors.push_back(invalid(ranges.item(0), range,
                                 "must be a valid CIDR value, (e.g. 10.9.8.0/24 or "
                                 "2001:db8::/64)"));
    }
    const Path status = root.child("status");
    for (const char* list : {"capacity", "allocatable"}) {
        const Path path = status.child(list);
        for (const Value::Member& amount : node["status"][list].members()) {
            check_not_negative(amount.value, path.key(amount.key), errors);
        }
    }
    return errors;
}

FieldErrors validate_namespace(const Value& ns, const Value*) {
    FieldErrors errors;
    const Path root;
    const Path spec = root.child("spec");
    const Path list = spec.child("finalizers");
    const Value& finalizers = ns["spec"]["finalizers"];
    for (std::size_t i = 0; i < finalizers.size(); ++i) {
        add_invalid(errors, list.item(i), finalizers[i],
                    label_key_faults(finalizers[i].text_or("")));
    }
    return errors;
}

FieldErrors validate_config_map(const Value& config_map, const Value* old) {
    FieldErrors errors;
    check_data(config_map, errors);
    const Path root;
    const Path data = root.child("data");
    for (const Value::Member& entry : config_map["data"].members()) {
        if (!config_map["binaryData"].has(entry.key)) continue;
        errors.push_back(invalid(data.key(entry.key), Value(entry.key),
                                 "duplicate of key present in binaryData"));
    }
    if (old != nullptr) check_frozen(config_map, *old, {"data", "binaryData"}, errors);
    return errors;
}

FieldErrors validate_secret(const Value& secret, const Value* old) {
    FieldErrors errors;
    check_data(secret, errors);
    const Path root;
    const Path data = root.child("data");
    for (const SecretType& type : secret_types()) {
        if (secret["type"].text_or("") != type.type) continue;
        for (const char* key : type.keys) {
            if (!secret["data"].has(key)) errors.push_back(required(data.key(key)));
        }
    }
    const bool has_one = secret["data"].has("username") || secret["data"].has("password");
    if (secret["type"].text_or("") == "kubernetes.io/basic-auth" && !has_one) {
        for (const char* key : {"username", "password"})
            errors.push_back(required(data.key(key)));
    }
    constexpr const char* account = "kubernetes.io/service-account.name";
    const bool of_account = secret["type"].text_or("") == "kubernetes.io/service-account-token";
    if (of_account && secret["metadata"]["annotations"][account].text_or("").empty())
        errors.push_back(required(root.child("metadata").child("annotations").key(account)));
    if (old == nullptr) return errors;
    if (!(secret["type"] == (*old)["type"])) {
        errors.push_back(invalid(root.child("type"), secret["type"], "field is immutable"));
    }
    check_frozen(secret, *old, {"data"}, errors);
    return errors;
}

FieldErrors validate_lease(const Value& lease, const Value*) {
    FieldErrors errors;
    const Path root;
    const Path spec = root.child("spec");
    const Value& duration = lease["spec"]["leaseDurationSeconds"];
    if (duration.integer_or(1) <= 0)
        errors.push_back(
            invalid(spec.child("leaseDurationSeconds"), duration, "must be greater than 0"));
    const Value& transitions = lease["spec"]["leaseTransitions"];
    if (transitions.integer_or(0) < 0)
        errors.push_back(invalid(spec.child("leaseTransitions"), transitions,
                                 "must be greater than or equal to 0"));
    return errors;
}

FieldErrors validate_role(const Value& role, const Value*) {
    FieldErrors errors;
    const Path root;
    const Path rules = root.child("rules");
    const bool cluster = role["kind"].text_or("") == "ClusterRole";
    for (std::size_t i = 0; i < role["rules"].size(); ++i) {
        check_rule(role["rules"][i], rules.item(i), cluster, errors);
    }
    return errors;
}

FieldErrors validate_role_binding(const Value& binding, const Value* old) {
    static const std::vector<std::string> groups = {"rbac.authorization.k8s.io"};
    static const std::vector<std::string> roles = {"Role", "ClusterRole"};
    FieldErrors errors;
    const Path root;
    const Path reference = root.child("roleRef");
    const Value& role = binding["roleRef"];
    if (role["apiGroup"].text_or("") != groups[0]) {
        errors.push_back(not_supported(reference.child("apiGroup"), role["apiGroup"], groups));
    }
    const bool cluster = binding["kind"].text_or("") == "ClusterRoleBinding";
    const std::string_view kind = role["kind"].text_or("");
    if (kind != "ClusterRole" && (cluster || kind != "Role")) {
        errors.push_back(not_supported(reference.child("kind"), role["kind"],
                                       cluster ? std::vector<std::string>{"ClusterRole"} : roles));
    }
    if (role["name"].text_or("").empty()) {
        errors.push_back(required(reference.child("name")));
    } else {
        add_invalid(errors, reference.child("name"), role["name"],
                    path_segment_faults(role["name"].as_string()));
    }
    const Path subjects = root.child("subjects");
    for (std::size_t i = 0; i < binding["subjects"].size(); ++i) {
        check_subject(binding["subjects"][i], subjects.item(i), errors);
    }
    if (old != nullptr && !(role == (*old)["roleRef"])) {
        errors.push_back(invalid(reference, role, "cannot change roleRef"));
    }
    return errors;
}

FieldErrors validate_runtime_class(const Value& runtime_class, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Value& handler = runtime_class["handler"];
    if (handler.text_or("").empty()) {
        errors.push_back(required(root.child("handler")));
    } else {
        add_invalid(errors, root.child("handler"), handler,
                    dns1123_label_faults(handler.as_string()));
    }
    if (old != nullptr && !((*old)["handler"] == handler))
        errors.push_back(invalid(root.child("handler"), handler, "field is immutable"));
    return errors;
}

FieldErrors validate_priority_class(const Value& priority_class, const Value* old) {
    constexpr std::int64_t user_value_max = 1'000'000'000;
    constexpr std::string_view system_prefix = "system-";
    FieldErrors errors;
    const Path root;
    const std::string name = priority_class["metadata"]["name"].text();
    const bool known = name == "system-node-critical" || name == "system-cluster-critical";
    if (name.starts_with(system_prefix) && !known) {
        const Path metadata = root.child("metadata");
        errors.push_back(forbidden(metadata.child("name"),
                                   "priority class names with 'system-' prefix are reserved for "
                                   "system use only. error: " +
                                       name + " is not a known system priority class"));
    }
    if (old == nullptr && !known && priority_class["value"].integer_or(0) > user_value_max) {
        errors.push_back(
            forbidden(root.child("value"), "maximum allowed value of a user defined priority is " +
                                               std::to_string(user_value_max)));
    }
    if (old == nullptr) return errors;
    for (const char* field : {"value", "preemptionPolicy"}) {
        if (priority_class[field] == (*old)[field]) continue;
        errors.push_back(forbidden(root.child(field), "may not be changed in an update."));
    }
    return errors;
}

}  // namespace muster::api
