// control/webhooks/configuration.cpp - the table of webhooks as documents of Kubernetes.
#include "control/webhooks/configuration.h"

#include <utility>

#include "base/text.h"
#include "control/queue/leader_worker_set.h"
#include "control/queue/names.h"
#include "control/webhooks/conversion.h"
#include "decide/place/operator_text.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

constexpr const char* namespace_name_label = "kubernetes.io/metadata.name";
constexpr int service_port = 443;
constexpr int timeout_seconds = 10;

Value client_config(const Address& address, std::string_view path, const std::string& authorities) {
    Value made = Value::object();
    if (address.url.empty()) {
        made.set("service", Value::object({{"namespace", address.service_namespace},
                                           {"name", address.service_name},
                                           {"path", path},
                                           {"port", service_port}}));
    } else {
        made.set("url", address.url + std::string(path));
    }
    if (!authorities.empty()) made.set("caBundle", to_base64(authorities));
    return made;
}

Value requirement(const char* key, const char* word, Value values) {
    Value made = Value::object({{"key", key}, {"operator", word}});
    if (!values.empty()) made.set("values", std::move(values));
    return made;
}

Value namespaces_of(const queue::JobRules& rules, const Address& address) {
    Value selector = Value::object();
    for (const auto& [name, value] : rules.namespaces.labels)
        selector.at("matchLabels").set(name, value);
    for (const decide::Requirement& each : rules.namespaces.expressions) {
        Value values = Value::array();
        for (const std::string& value : each.values)
            values.push(value);
        selector.at("matchExpressions")
            .push(requirement(each.key.c_str(), decide::operator_text(each.op), std::move(values)));
    }
    selector.at("matchExpressions")
        .push(
            requirement(namespace_name_label, "NotIn", Value::array({address.service_namespace})));
    return selector;
}

Value objects_of(Webhook::Scope scope) {
    using Scope = Webhook::Scope;
    if (scope != Scope::queued && scope != Scope::grouped) return Value::object();
    const std::string label(scope == Scope::queued ? queue::queue_name_label
                                                   : queue::leader_worker_set_label);
    return Value::object(
        {{"matchExpressions", Value::array({requirement(label.c_str(), "Exists", {})})}});
}

template <class Texts>
Value list_of(const Texts& texts) {
    Value made = Value::array();
    for (const auto& text : texts)
        made.push(Value(std::string_view(text)));
    return made;
}

Value rules_of(const Webhook& webhook) {
    Value rules = Value::array();
    for (const api::GroupResource& resource : webhook.resources) {
        std::vector<std::string> resources = {resource.plural};
        for (const std::string_view subresource : webhook.subresources)
            resources.push_back(resource.plural + "/" + std::string(subresource));
        rules.push(Value::object({{"apiGroups", Value::array({resource.group})},
                                  {"apiVersions", Value::array({webhook.version})},
                                  {"operations", list_of(webhook.operations)},
                                  {"resources", list_of(resources)},
                                  {"scope", "*"}}));
    }
    return rules;
}

Value document(const Webhook& webhook, const queue::JobRules& rules, const Address& address,
               const std::string& authorities) {
    const bool everywhere = webhook.scope == Webhook::Scope::everywhere;
    Value made = Value::object(
        {{"name", webhook.name},
         {"clientConfig", client_config(address, webhook.path, authorities)},
         {"rules", rules_of(webhook)},
         {"failurePolicy", "Fail"},
         {"matchPolicy", "Equivalent"},
         {"namespaceSelector", everywhere ? Value::object() : namespaces_of(rules, address)},
         {"objectSelector", objects_of(webhook.scope)},
         {"sideEffects", "None"},
         {"timeoutSeconds", timeout_seconds},
         {"admissionReviewVersions", Value::array({"v1"})}});
    if (webhook.phase == Phase::mutating) made.set("reinvocationPolicy", "Never");
    return made;
}

/// "kueue-system/kueue-webhook-service"
std::string service_text(const Value& service) {
    return service["namespace"].text() + "/" + service["name"].text();
}

}  // namespace

Value configuration(Phase phase, const std::vector<Webhook>& webhooks, const queue::JobRules& rules,
                    const Address& address, const std::string& authorities) {
    const bool mutating = phase == Phase::mutating;
    Value list = Value::array();
    for (const Webhook& webhook : webhooks) {
        if (webhook.phase == phase) list.push(document(webhook, rules, address, authorities));
    }
    return Value::object(
        {{"apiVersion", "admissionregistration.k8s.io/v1"},
         {"kind", mutating ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration"},
         {"metadata", Value::object({{"name", mutating ? mutating_name : validating_name}})},
         {"webhooks", std::move(list)}});
}

Value owned(Value configuration, const std::string& cluster_role, const std::string& uid) {
    const Value owner = Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                       {"kind", "ClusterRole"},
                                       {"name", cluster_role},
                                       {"uid", uid}});
    configuration.at("metadata").set("ownerReferences", Value::array({owner}));
    return configuration;
}

std::optional<Value> corrected(const Value& present, const Value& wanted) {
    Value made = present;
    made.set("webhooks", wanted["webhooks"]);
    for (const Value& owner : wanted["metadata"]["ownerReferences"].items()) {
        Value owners = Value::array({owner});
        for (const Value& other : present["metadata"]["ownerReferences"].items()) {
            const bool is_it = other["kind"] == owner["kind"] && other["name"] == owner["name"];
            if (!is_it) owners.push(other);
        }
        made.at("metadata").set("ownerReferences", std::move(owners));
    }
    if (made == present) return std::nullopt;
    return made;
}

ConversionPlan plan_conversion(const Value& crd, const Address& address,
                               const std::string& authorities) {
    const Value& present = crd["spec"]["conversion"];
    const Value& service = present["webhook"]["clientConfig"]["service"];
    const std::string own = address.service_namespace + "/" + address.service_name;
    ConversionPlan plan;
    if (service.is_object() && service_text(service) != own) {
        plan.kept = ConversionPlan::Kept::somebody_elses;
        plan.asked = service_text(service);
        return plan;
    }
    const Value wanted = Value::object(
        {{"strategy", "Webhook"},
         {"webhook",
          Value::object({{"clientConfig", client_config(address, conversion_path, authorities)},
                         {"conversionReviewVersions", Value::array({"v1"})}})}});
    if (present == wanted) return plan;
    Value conversion = wanted;
    conversion.at("webhook").at("clientConfig").set(address.url.empty() ? "url" : "service", {});
    plan.patch = Value::object(
        {{"metadata", Value::object({{"resourceVersion", crd["metadata"]["resourceVersion"]}})},
         {"spec", Value::object({{"conversion", std::move(conversion)}})}});
    return plan;
}

std::vector<api::GroupResource> converted_kinds() {
    std::vector<api::GroupResource> converted;
    for (const api::Kind& kind : api::all_kinds()) {
        if (kind.custom && kind.convert != nullptr) converted.push_back(kind.resource());
    }
    return converted;
}

}  // namespace muster::control::webhooks
