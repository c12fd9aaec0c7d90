// apiserver/webhook_rules.cpp - rules, selectors and the order of webhooks, as kube-apiserver has
// them.
#include "apiserver/webhook_rules.h"

#include <algorithm>
#include <utility>

#include "api/label_rules.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

using api::Value;

bool has_or_all(const Value& list, std::string_view wanted) {
    return std::any_of(list.items().begin(), list.items().end(), [&](const Value& item) {
        return item.text_or("") == "*" || item.text_or("") == wanted;
    });
}

bool is_namespace(const VersionedResource& resource) {
    return resource.group.empty() && resource.version == "v1" && resource.plural == "namespaces";
}

bool scope_matches(const Value& rule, const VersionedResource& resource, std::string_view ns) {
    const std::string_view scope = rule["scope"].text_or("*");
    const bool in_a_namespace = !is_namespace(resource) && !ns.empty();
    if (scope == "*") return true;
    return scope == "Namespaced" ? in_a_namespace : scope == "Cluster" && !in_a_namespace;
}

bool resource_matches(const Value& rule, std::string_view plural, std::string_view subresource) {
    for (const Value& item : rule["resources"].items()) {
        std::string_view resource = item.text_or(""), part;
        if (const auto halves = split_first(resource, '/')) {
            resource = halves->before;
            part = halves->after;
        }
        if ((resource == "*" || resource == plural) && (part == "*" || part == subresource))
            return true;
    }
    return false;
}

bool rule_matches(const Value& rule, const VersionedResource& resource,
                  const WebhookQuestion& question) {
    return scope_matches(rule, resource, question.ns) &&
           has_or_all(rule["operations"], question.operation) &&
           has_or_all(rule["apiGroups"], resource.group) &&
           has_or_all(rule["apiVersions"], resource.version) &&
           resource_matches(rule, resource.plural, question.subresource);
}

bool is_empty_selector(const Value& selector) {
    return selector["matchLabels"].empty() && selector["matchExpressions"].empty();
}

bool object_matches(const Value& selector, const WebhookQuestion& question) {
    if (is_empty_selector(selector)) return true;
    return (question.labels != nullptr && api::selector_matches(selector, *question.labels)) ||
           (question.old_labels != nullptr &&
            api::selector_matches(selector, *question.old_labels));
}

enum class InNamespace { yes, no, none };

InNamespace namespace_matches(const Value& selector, const WebhookQuestion& question) {
    if (question.ns.empty() && question.resource.plural != "namespaces") return InNamespace::yes;
    if (is_empty_selector(selector)) return InNamespace::yes;
    if (question.namespace_labels == nullptr) return InNamespace::none;
    const bool chosen = api::selector_matches(selector, *question.namespace_labels);
    return chosen ? InNamespace::yes : InNamespace::no;
}

/// In which version the rules of a webhook want it: the one it came in, or an equivalent.
std::optional<VersionedResource> version_for(const Value& spec, const WebhookQuestion& question) {
    for (const Value& rule : spec["rules"].items()) {
        if (rule_matches(rule, question.resource, question)) return question.resource;
    }
    if (spec["matchPolicy"].text_or("") != "Equivalent") return std::nullopt;
    for (const Value& rule : spec["rules"].items()) {
        for (const VersionedResource& other : question.equivalents) {
            if (rule_matches(rule, other, question)) return other;
        }
    }
    return std::nullopt;
}

}  // namespace

void Webhooks::put(Phase phase, const std::string& name, const Value& configuration) {
    auto& known = by_configuration_[index(phase)];
    known.erase(name);
    std::map<std::string, int> seen;
    for (const Value& spec : configuration["webhooks"].items()) {
        auto webhook = std::make_shared<Webhook>();
        const std::string own = spec["name"].text();
        webhook->id = name + "/" + own + "/" + std::to_string(seen[own]++);
        webhook->spec = spec;
        for (const Value& condition : spec["matchConditions"].items())
            webhook->conditions.emplace_back(trim(condition["expression"].text_or("")));
        known[name].push_back(std::move(webhook));
    }
    auto& all = all_[index(phase)];
    all.clear();
    for (const auto& [configured, hooks] : known)
        all.insert(all.end(), hooks.begin(), hooks.end());
}

WebhookMatch match(const Webhook& webhook, const WebhookQuestion& question) {
    const InNamespace here = namespace_matches(webhook.spec["namespaceSelector"], question);
    if (here == InNamespace::no) return {};
    if (!object_matches(webhook.spec["objectSelector"], question)) return {};
    const auto as = version_for(webhook.spec, question);
    if (!as) return {};
    if (here == InNamespace::none) return {WebhookMatch::Outcome::no_namespace, *as};
    return {WebhookMatch::Outcome::asked, *as};
}

}  // namespace muster::apiserver
