// apiserver/bootstrap_roles.cpp - the default cluster roles and their bindings, made from what is
// served.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "apiserver/bootstrap.h"
#include "apiserver/rbac.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Texts = std::vector<std::string>;

constexpr const char* rbac_group = "rbac.authorization.k8s.io";
const Texts read_verbs{"get", "list", "watch"};
const Texts write_verbs{"create", "delete", "deletecollection", "patch", "update"};

Value bootstrap_metadata(const std::string& name) {
    return Value::object(
        {{"name", name},
         {"labels", Value::object({{"kubernetes.io/bootstrapping", "rbac-defaults"}})},
         {"annotations",
          Value::object({{"rbac.authorization.kubernetes.io/autoupdate", "true"}})}});
}

Value cluster_role(const std::string& name, const std::vector<Rule>& rules) {
    Value list = Value::array();
    for (const Rule& rule : rules)
        list.push(to_value(rule));
    return Value::object({{"apiVersion", std::string(rbac_group) + "/v1"},
                          {"kind", "ClusterRole"},
                          {"metadata", bootstrap_metadata(name)},
                          {"rules", list}});
}

Value cluster_binding(const std::string& name, const Texts& groups) {
    Value subjects = Value::array();
    for (const std::string& group : groups) {
        subjects.push(
            Value::object({{"apiGroup", rbac_group}, {"kind", "Group"}, {"name", group}}));
    }
    Value binding = Value::object(
        {{"apiVersion", std::string(rbac_group) + "/v1"},
         {"kind", "ClusterRoleBinding"},
         {"metadata", bootstrap_metadata(name)},
         {"roleRef",
          Value::object({{"apiGroup", rbac_group}, {"kind", "ClusterRole"}, {"name", name}})}});
    if (!groups.empty()) binding.set("subjects", subjects);
    return binding;
}

/// Rules over all namespaced kinds: those that people work with, by group.
enum class Secrets { with, without };
std::vector<Rule> namespaced_rules(const Texts& verbs, Secrets secrets) {
    std::map<std::string, Texts> by_group;
    for (const api::Kind& kind : api::all_kinds()) {
        if (!kind.namespaced || kind.group == rbac_group) continue;
        if (kind.plural == "secrets" && secrets == Secrets::without) continue;
        Texts& resources = by_group[kind.group];
        resources.push_back(kind.plural);
        if (!kind.scale_spec_path.empty()) resources.push_back(kind.plural + "/scale");
        if (kind.has_status && verbs == read_verbs) resources.push_back(kind.plural + "/status");
    }
    std::vector<Rule> rules;
    for (auto& [group, resources] : by_group) {
        rules.push_back({verbs, {group}, std::move(resources), {}, {}});
    }
    return rules;
}

std::vector<Rule> view_rules() {
    std::vector<Rule> rules = namespaced_rules(read_verbs, Secrets::without);
    rules.push_back({read_verbs, {""}, {"namespaces", "pods/log"}, {}, {}});
    return rules;
}

std::vector<Rule> edit_rules() {
    std::vector<Rule> rules = namespaced_rules(read_verbs, Secrets::with);
    for (Rule& rule : namespaced_rules(write_verbs, Secrets::with)) {
        rules.push_back(std::move(rule));
    }
    rules.push_back({read_verbs, {""}, {"namespaces", "pods/log"}, {}, {}});
    rules.push_back(
        {{"get", "create", "delete", "patch", "update"},
         {""},
         {"pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "services/proxy"},
         {},
         {}});
    rules.push_back({{"create"}, {""}, {"pods/eviction", "serviceaccounts/token"}, {}, {}});
    rules.push_back({{"impersonate"}, {""}, {"serviceaccounts"}, {}, {}});
    return rules;
}

std::vector<Rule> admin_rules() {
    std::vector<Rule> rules = edit_rules();
    Texts verbs = read_verbs;
    verbs.insert(verbs.end(), write_verbs.begin(), write_verbs.end());
    rules.push_back({verbs, {rbac_group}, {"roles", "rolebindings"}, {}, {}});
    rules.push_back({{"create"}, {"authorization.k8s.io"}, {"localsubjectaccessreviews"}, {}, {}});
    return rules;
}

/// A role that others join by the label aggregate-to-NAME.
Value open_role(const std::string& name, const std::vector<Rule>& rules, const std::string& joins) {
    const std::string prefix = "rbac.authorization.k8s.io/aggregate-to-";
    Value role = cluster_role(name, rules);
    if (!joins.empty()) role.at("metadata").at("labels").set(prefix + joins, "true");
    const Value selector =
        Value::object({{"matchLabels", Value::object({{prefix + name, "true"}})}});
    role.set("aggregationRule",
             Value::object({{"clusterRoleSelectors", Value::array({selector})}}));
    return role;
}

std::vector<Rule> node_rules() {
    const Texts all = {"create", "delete", "get", "list", "patch", "update", "watch"};
    return {
        {{"create"}, {"authentication.k8s.io"}, {"tokenreviews"}, {}, {}},
        {{"create"}, {"authorization.k8s.io"}, {"subjectaccessreviews"}, {}, {}},
        {read_verbs, {""}, {"services", "configmaps", "secrets", "serviceaccounts"}, {}, {}},
        {{"create", "get", "list", "watch", "update", "patch"}, {""}, {"nodes"}, {}, {}},
        {{"update", "patch"}, {""}, {"nodes/status", "pods/status"}, {}, {}},
        {{"create", "delete", "get", "list", "watch"}, {""}, {"pods"}, {}, {}},
        {{"create"}, {""}, {"pods/eviction", "serviceaccounts/token"}, {}, {}},
        {{"create", "patch", "update"}, {"", "events.k8s.io"}, {"events"}, {}, {}},
        {all, {"coordination.k8s.io"}, {"leases"}, {}, {}},
    };
}

}  // namespace

std::vector<Value> default_roles() {
    const Texts health{"/healthz", "/livez", "/readyz", "/version", "/version/"};
    const Texts discovery{"/api",      "/api/*",   "/apis",     "/apis/*",    "/healthz",
                          "/livez",    "/livez/*", "/openapi",  "/openapi/*", "/readyz",
                          "/readyz/*", "/version", "/version/", "/healthz/*"};
    std::vector<Value> objects;
    const auto add = [&objects](Value object) { objects.push_back(std::move(object)); };
    add(cluster_role("cluster-admin", {{{"*"}, {"*"}, {"*"}, {}, {}}, {{"*"}, {}, {}, {}, {"*"}}}));
    add(cluster_binding("cluster-admin", {"system:masters"}));
    add(cluster_role("system:discovery", {{{"get"}, {}, {}, {}, discovery}}));
    add(cluster_binding("system:discovery", {"system:authenticated"}));
    add(cluster_role("system:public-info-viewer", {{{"get"}, {}, {}, {}, health}}));
    add(cluster_binding("system:public-info-viewer",
                        {"system:authenticated", "system:unauthenticated"}));
    add(cluster_role("system:basic-user",
                     {{{"create"},
                       {"authorization.k8s.io"},
                       {"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
                       {},
                       {}},
                      {{"create"}, {"authentication.k8s.io"}, {"selfsubjectreviews"}, {}, {}}}));
    add(cluster_binding("system:basic-user", {"system:authenticated"}));
    add(cluster_role(
        "system:service-account-issuer-discovery",
        {{{"get"}, {}, {}, {}, {"/.well-known/openid-configuration", "/openid/v1/jwks"}}}));
    add(cluster_binding("system:service-account-issuer-discovery", {"system:serviceaccounts"}));
    add(cluster_role("system:auth-delegator",
                     {{{"create"}, {"authentication.k8s.io"}, {"tokenreviews"}, {}, {}},
                      {{"create"}, {"authorization.k8s.io"}, {"subjectaccessreviews"}, {}, {}}}));
    add(cluster_role("system:monitoring",
                     {{{"get"}, {}, {}, {}, {"/healthz", "/livez", "/readyz", "/metrics"}}}));
    add(cluster_binding("system:monitoring", {"system:monitoring"}));
    add(cluster_role("system:node", node_rules()));
    add(cluster_binding("system:node", {}));
    add(open_role("view", view_rules(), "edit"));
    add(open_role("edit", edit_rules(), "admin"));
    add(open_role("admin", admin_rules(), ""));
    return objects;
}

}  // namespace muster::apiserver
