// apps/cli/access_documents.cpp - from tables of rights to ClusterRoles, Roles and bindings.
#include "apps/cli/access_documents.h"

#include <map>
#include <set>
#include <utility>

#include "api/guest_kinds.h"
#include "api/kueue/kind_roles.h"
#include "control/webhooks/configuration.h"

namespace muster::cli {
namespace {

using api::Value;

constexpr const char* rbac_group = "rbac.authorization.k8s.io";

Value words_of(const std::set<std::string>& words) {
    Value list = Value::array();
    for (const std::string& word : words)
        list.push(word);
    return list;
}

Value document(const std::string& api_version, const std::string& kind, const std::string& name,
               const std::string& ns = "") {
    Value metadata = Value::object({{"name", name}});
    if (!ns.empty()) metadata.set("namespace", ns);
    return Value::object(
        {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

Value role(const std::string& name, Value rules, const std::string& ns = "") {
    Value made =
        document(std::string(rbac_group) + "/v1", ns.empty() ? "ClusterRole" : "Role", name, ns);
    made.set("rules", std::move(rules));
    return made;
}

Value binding(const AccessNames& names, const std::string& role, const std::string& ns = "") {
    const std::string kind = ns.empty() ? "ClusterRole" : "Role";
    Value made = document(std::string(rbac_group) + "/v1", kind + "Binding", role, ns);
    made.set("roleRef", Value::object({{"apiGroup", rbac_group}, {"kind", kind}, {"name", role}}));
    made.set("subjects", Value::array({Value::object({{"kind", "ServiceAccount"},
                                                      {"name", names.prefix + "-operator"},
                                                      {"namespace", names.ns}})}));
    return made;
}

/// What the process needs beside its controllers: to ask who may read its metrics, and to make the
/// configurations of its webhooks.
control::Rights process_rights() {
    return {{{"authentication.k8s.io", "tokenreviews"}, {"create"}},
            {{"authorization.k8s.io", "subjectaccessreviews"}, {"create"}},
            {{"admissionregistration.k8s.io", "mutatingwebhookconfigurations"}, {"create"}},
            {{"admissionregistration.k8s.io", "validatingwebhookconfigurations"}, {"create"}}};
}

Value named_rule(const std::string& group, const std::set<std::string>& resources,
                 const std::set<std::string>& names, const std::set<std::string>& verbs) {
    return Value::object({{"apiGroups", Value::array({group})},
                          {"resources", words_of(resources)},
                          {"resourceNames", words_of(names)},
                          {"verbs", words_of(verbs)}});
}

/// Of objects that everybody has some of, its own: the configurations of its webhooks, the CRDs of
/// the kinds that these convert, the role that all this goes with, and the CRDs of the kinds of
/// others: who wraps one in an AppWrapper is told when the cluster does not have it.
void add_named_rules(Value& rules, const std::string& own_role) {
    rules.push(named_rule("admissionregistration.k8s.io",
                          {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"},
                          {std::string(control::webhooks::mutating_name),
                           std::string(control::webhooks::validating_name)},
                          {"get", "update"}));
    std::set<std::string> crds;
    for (const api::GroupResource& resource : control::webhooks::converted_kinds())
        crds.insert(resource.plural + "." + resource.group);
    rules.push(
        named_rule("apiextensions.k8s.io", {"customresourcedefinitions"}, crds, {"get", "patch"}));
    std::set<std::string> guests;
    for (const api::Kind& kind : api::guest_kinds())
        guests.insert(kind.plural + "." + kind.group);
    rules.push(named_rule("apiextensions.k8s.io", {"customresourcedefinitions"}, guests, {"get"}));
    rules.push(named_rule(rbac_group, {"clusterroles"}, {own_role}, {"get"}));
}

/// In its own namespace: the Lease, and the keys of its webhooks.
control::Rights own_rights() {
    return {{{"coordination.k8s.io", "leases"}, {"create", "get", "update", "watch"}},
            {{"", "secrets"}, {"create", "get", "update"}}};
}

}  // namespace

Value rules_of(const control::Rights& rights) {
    std::map<std::pair<std::string, std::set<std::string>>, std::set<std::string>> together;
    for (const auto& [what, verbs] : rights)
        together[{what.first, verbs}].insert(what.second);
    Value rules = Value::array();
    for (const auto& [how, resources] : together) {
        rules.push(Value::object({{"apiGroups", Value::array({how.first})},
                                  {"resources", words_of(resources)},
                                  {"verbs", words_of(how.second)}}));
    }
    return rules;
}

std::vector<Value> operator_access(const AccessNames& names) {
    control::Rights rights = control::operator_rights();
    rights.merge(process_rights());
    Value rules = rules_of(rights);
    const std::string name = names.prefix + "-operator";
    add_named_rules(rules, name);
    const Value metrics = Value::array({Value::object(
        {{"nonResourceURLs", Value::array({"/metrics"})}, {"verbs", Value::array({"get"})}})});
    return {document("v1", "ServiceAccount", name, names.ns),
            role(name, std::move(rules)),
            binding(names, name),
            role(name, rules_of(own_rights()), names.ns),
            binding(names, name, names.ns),
            role(names.prefix + "-metrics-reader", metrics)};
}

std::vector<Value> user_roles(const AccessNames& names) {
    return api::kind_roles({names.prefix, api::KindRoleNames::Server::a_cluster});
}

}  // namespace muster::cli
