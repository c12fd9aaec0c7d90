// apiserver/bootstrap_roles.cpp - the default cluster roles and their bindings.
#include <string>
#include <utility>
#include <vector>

#include "apiserver/bootstrap.h"
#include "apiserver/people_roles.h"
#include "apiserver/rbac.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Texts = std::vector<std::string>;

constexpr const char* rbac_group = "rbac.authorization.k8s.io";
const Texts read_verbs{"get", "list", "watch"};

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
    for (Value& role : people_roles()) {
        const Value usual = bootstrap_metadata(role["metadata"]["name"].text());
        for (const char* part : {"labels", "annotations"}) {
            for (const auto& [key, value] : usual[part].members())
                role.at("metadata").at(part).set(key, value);
        }
        add(std::move(role));
    }
    return objects;
}

}  // namespace muster::apiserver
