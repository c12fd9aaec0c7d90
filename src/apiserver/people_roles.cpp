// apiserver/people_roles.cpp - Kubernetes 1.36's policy for people, rule by rule, and Kueue's.
#include "apiserver/people_roles.h"

#include <string>
#include <utility>

#include "api/kueue/kind_roles.h"
#include "apiserver/rbac.h"
#include "apiserver/selector.h"

namespace muster::apiserver {
namespace {

using api::Value;
using Texts = std::vector<std::string>;

const Texts reading{"get", "list", "watch"};
const Texts writing{"create", "delete", "deletecollection", "patch", "update"};
const Texts both{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};

Rule rule(const Texts& verbs, const Texts& groups, Texts resources) {
    return {verbs, groups, std::move(resources), {}, {}};
}

std::vector<Rule> view_rules() {
    return {
        rule(reading, {""},
             {"pods", "replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts",
              "services", "services/status", "endpoints", "persistentvolumeclaims",
              "persistentvolumeclaims/status", "configmaps"}),
        rule(reading, {""},
             {"limitranges", "resourcequotas", "bindings", "pods/status", "resourcequotas/status",
              "namespaces/status", "replicationcontrollers/status", "pods/log"}),
        rule(reading, {""}, {"namespaces"}),
        rule(reading, {"", "events.k8s.io"}, {"events"}),
        rule(reading, {"discovery.k8s.io"}, {"endpointslices"}),
        rule(reading, {"apps"},
             {"controllerrevisions", "statefulsets", "statefulsets/status", "statefulsets/scale",
              "daemonsets", "daemonsets/status", "deployments", "deployments/status",
              "deployments/scale", "replicasets", "replicasets/status", "replicasets/scale"}),
        rule(reading, {"autoscaling"},
             {"horizontalpodautoscalers", "horizontalpodautoscalers/status"}),
        rule(reading, {"batch"}, {"jobs", "cronjobs", "cronjobs/status", "jobs/status"}),
        rule(reading, {"extensions"},
             {"daemonsets", "daemonsets/status", "deployments", "deployments/scale",
              "deployments/status", "ingresses", "ingresses/status", "replicasets",
              "replicasets/scale", "replicasets/status", "replicationcontrollers/scale",
              "networkpolicies"}),
        rule(reading, {"policy"}, {"poddisruptionbudgets", "poddisruptionbudgets/status"}),
        rule(reading, {"networking.k8s.io"}, {"networkpolicies", "ingresses", "ingresses/status"}),
        rule(reading, {"resource.k8s.io"},
             {"resourceclaims", "resourceclaims/status", "resourceclaimtemplates"}),
    };
}

std::vector<Rule> edit_rules() {
    return {
        rule(reading, {""},
             {"pods/attach", "pods/proxy", "pods/exec", "pods/portforward", "secrets",
              "services/proxy"}),
        rule({"impersonate"}, {""}, {"serviceaccounts"}),
        rule(writing, {""}, {"pods", "pods/attach", "pods/proxy", "pods/exec", "pods/portforward"}),
        rule({"create"}, {""}, {"pods/eviction"}),
        rule(writing, {""},
             {"replicationcontrollers", "replicationcontrollers/scale", "serviceaccounts",
              "services", "services/proxy", "persistentvolumeclaims", "configmaps", "secrets"}),
        rule({"create"}, {""}, {"serviceaccounts/token"}),
        rule(writing, {"", "events.k8s.io"}, {"events"}),
        rule(writing, {"apps"},
             {"statefulsets", "statefulsets/scale", "daemonsets", "deployments",
              "deployments/scale", "deployments/rollback", "replicasets", "replicasets/scale"}),
        rule(writing, {"autoscaling"}, {"horizontalpodautoscalers"}),
        rule(writing, {"batch"}, {"jobs", "cronjobs"}),
        rule(writing, {"extensions"},
             {"daemonsets", "deployments", "deployments/scale", "deployments/rollback", "ingresses",
              "replicasets", "replicasets/scale", "replicationcontrollers/scale",
              "networkpolicies"}),
        rule(writing, {"policy"}, {"poddisruptionbudgets"}),
        rule(writing, {"networking.k8s.io"}, {"networkpolicies", "ingresses"}),
        rule(both, {"coordination.k8s.io"}, {"leases"}),
        rule(writing, {"resource.k8s.io"}, {"resourceclaims", "resourceclaimtemplates"}),
    };
}

std::vector<Rule> admin_rules() {
    return {
        rule({"create"}, {"authorization.k8s.io"}, {"localsubjectaccessreviews"}),
        rule(both, {"rbac.authorization.k8s.io"}, {"roles", "rolebindings"}),
    };
}

/// Beside Kueue's kinds: what bounds a namespace, and where its services lead.
std::vector<Rule> batch_admin_rules() {
    return {rule(both, {""}, {"endpoints", "limitranges", "resourcequotas"}),
            rule(both, {"discovery.k8s.io"}, {"endpointslices"})};
}

std::string aggregate_to(const std::string& role) {
    return "rbac.authorization.k8s.io/aggregate-to-" + role;
}

Value cluster_role(const std::string& name, const std::vector<std::string>& labels) {
    Value role = Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                {"kind", "ClusterRole"},
                                {"metadata", Value::object({{"name", name}})}});
    for (const std::string& label : labels)
        role.at("metadata").at("labels").set(label, "true");
    return role;
}

Value role_of(const std::string& name, const std::string& label, const std::vector<Rule>& rules) {
    Value role = cluster_role(name, {label});
    Value list = Value::array();
    for (const Rule& each : rules)
        list.push(to_value(each));
    role.set("rules", std::move(list));
    return role;
}

Value gathering_role(const std::string& name, const std::vector<std::string>& labels) {
    Value role = cluster_role(name, labels);
    const Value selector =
        Value::object({{"matchLabels", Value::object({{aggregate_to(name), "true"}})}});
    role.set("aggregationRule",
             Value::object({{"clusterRoleSelectors", Value::array({selector})}}));
    return role;
}

/// Shows in each role that gathers what it gathers. The index finds that by itself, and anew when a
/// role comes.
void fill_gathered(std::vector<Value>& roles) {
    Rbac index;
    for (const Value& role : roles)
        index.put("clusterroles", "", role["metadata"]["name"].text_or(""), role);
    for (Value& role : roles) {
        if (role["aggregationRule"].is_null()) continue;
        const Value ref =
            Value::object({{"kind", "ClusterRole"}, {"name", role["metadata"]["name"]}});
        Value list = Value::array();
        for (const Rule& each : index.rules_of_ref(ref, "").value_or(std::vector<Rule>()))
            list.push(to_value(each));
        role.set("rules", std::move(list));
    }
}

}  // namespace

std::vector<Value> people_roles() {
    std::vector<Value> roles = {
        gathering_role("admin", {}),
        gathering_role("edit", {aggregate_to("admin")}),
        gathering_role("view", {aggregate_to("edit")}),
        role_of("system:aggregate-to-admin", aggregate_to("admin"), admin_rules()),
        role_of("system:aggregate-to-edit", aggregate_to("edit"), edit_rules()),
        role_of("system:aggregate-to-view", aggregate_to("view"), view_rules()),
        role_of("muster-namespace-editor-role", "rbac.kueue.x-k8s.io/batch-admin",
                batch_admin_rules()),
    };
    for (Value& role : api::kind_roles({"kueue", api::KindRoleNames::Server::muster_up}))
        roles.push_back(std::move(role));
    fill_gathered(roles);
    return roles;
}

}  // namespace muster::apiserver
