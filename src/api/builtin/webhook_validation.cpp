// api/builtin/webhook_validation.cpp - what Kubernetes refuses in the configurations of webhooks,
// and fills in.
#include <algorithm>
#include <set>
#include <string>

#include "api/builtin/fill.h"
#include "api/builtin/validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "api/match_condition.h"
#include "api/webhook_client.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t conditions_max = 64;
constexpr std::int64_t timeout_max = 30;

/// What an object may go on to have because it had it before: an update does not refuse it.
struct Allowed {
    bool side_effects = false;
    bool unknown_review_versions = false;
    bool equal_names = false;
    bool old_conditions = false;
    bool wrong_selectors = false;
};

bool has(const Value& list, std::string_view text) {
    return std::any_of(list.items().begin(), list.items().end(),
                       [&](const Value& item) { return item.text_or("") == text; });
}

bool is_one_of(const Value& value, const Texts& texts) {
    return std::find(texts.begin(), texts.end(), value.text_or("")) != texts.end();
}

void check_choice(const Value& hook, const char* field, const Texts& choices, const Path& path,
                  FieldErrors& errors) {
    if (hook[field].is_null() || is_one_of(hook[field], choices)) return;
    errors.push_back(not_supported(path.child(field), hook[field], choices));
}

void check_name(const Value& name, const Path& path, FieldErrors& errors) {
    const std::string_view text = name.text_or("");
    const Texts faults = text.empty() ? Texts{} : dns1123_subdomain_faults(text);
    if (text.empty()) {
        errors.push_back(required(path));
    } else if (!faults.empty()) {
        errors.push_back(invalid(path, name, join(faults, ",")));
    } else if (split(text, '.').size() < 3) {
        errors.push_back(invalid(path, name,
                                 "should be a domain with at least three segments separated by "
                                 "dots"));
    }
}

void check_list(const Value& list, const Path& path, const char* what, FieldErrors& errors) {
    if (list.empty()) errors.push_back(required(path));
    if (list.size() > 1 && has(list, "*")) {
        errors.push_back(
            invalid(path, list, std::string("if '*' is present, must not specify other ") + what));
    }
}

void check_resources(const Value& resources, const Path& path, FieldErrors& errors) {
    if (resources.empty()) errors.push_back(required(path));
    std::set<std::string_view> with_all_parts;  // x/*
    std::set<std::string_view> of_all;          // */x
    bool plain = false;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        const std::string_view text = resources[i].text_or("");
        if (text.empty()) {
            errors.push_back(required(path.item(i)));
            continue;
        }
        const auto halves = split_first(text, '/');
        if (!halves) {
            plain = text != "*";
            continue;
        }
        const auto [resource, part] = *halves;
        const auto must_not = [&](const std::string& present) {
            errors.push_back(
                invalid(path.item(i), resources[i],
                        "if '" + present + "' is present, must not specify " + std::string(text)));
        };
        if (with_all_parts.contains(resource)) must_not(std::string(resource) + "/*");
        if (of_all.contains(part)) must_not("*/" + std::string(part));
        if (part == "*") with_all_parts.insert(resource);
        if (resource == "*") of_all.insert(part);
    }
    if (resources.size() > 1 && has(resources, "*/*")) {
        errors.push_back(
            invalid(path, resources, "if '*/*' is present, must not specify other resources"));
    }
    if (has(resources, "*") && plain) {
        errors.push_back(
            invalid(path, resources,
                    "if '*' is present, must not specify other resources without subresources"));
    }
}

void check_rule(const Value& rule, const Path& path, FieldErrors& errors) {
    static const Texts operations{"*", "CONNECT", "CREATE", "DELETE", "UPDATE"};
    const Value& given = rule["operations"];
    const Path at = path.child("operations");
    check_list(given, at, "operations", errors);
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (!is_one_of(given[i], operations))
            errors.push_back(not_supported(at.item(i), given[i], operations));
    }
    check_list(rule["apiGroups"], path.child("apiGroups"), "API groups", errors);
    const Value& versions = rule["apiVersions"];
    const Path versions_at = path.child("apiVersions");
    check_list(versions, versions_at, "API versions", errors);
    for (std::size_t i = 0; i < versions.size(); ++i) {
        if (versions[i].text_or("").empty()) errors.push_back(required(versions_at.item(i)));
    }
    check_resources(rule["resources"], path.child("resources"), errors);
    check_choice(rule, "scope", {"*", "Cluster", "Namespaced"}, path, errors);
}

void check_condition(const Value& condition, const Path& path, FieldErrors& errors) {
    const std::string_view expression = trim(condition["expression"].text_or(""));
    const Path at = path.child("expression");
    if (expression.empty()) {
        errors.push_back(required(at));
    } else if (const std::string fault = match_condition_fault(expression); !fault.empty()) {
        errors.push_back(invalid(at, Value(expression), fault));
    }
    const Value& name = condition["name"];
    if (name.text_or("").empty()) {
        errors.push_back(required(path.child("name")));
    } else {
        add_invalid(errors, path.child("name"), name, label_key_faults(name.text_or("")));
    }
}

void check_conditions(const Value& conditions, const Path& path, FieldErrors& errors) {
    if (conditions.size() > conditions_max)
        errors.push_back(too_many(path, conditions.size(), conditions_max));
    std::set<std::string> names;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
        check_condition(conditions[i], path.item(i), errors);
        const std::string name = conditions[i]["name"].text();
        if (!name.empty() && !names.insert(name).second) {
            const Path item = path.item(i);
            errors.push_back(duplicate(item.child("name"), conditions[i]["name"]));
        }
    }
}

void check_review_versions(const Value& versions, const Path& path, const Allowed& allowed,
                           FieldErrors& errors) {
    if (versions.empty()) {
        errors.push_back(required(path, "must specify one of v1, v1beta1"));
        return;
    }
    std::set<std::string> seen;
    for (std::size_t i = 0; i < versions.size(); ++i) {
        if (!seen.insert(versions[i].text()).second) {
            errors.push_back(invalid(path.item(i), versions[i], "duplicate version"));
            continue;
        }
        add_invalid(errors, path.item(i), versions[i],
                    dns1035_label_faults(versions[i].text_or("")));
    }
    if (!allowed.unknown_review_versions && !has(versions, "v1") && !has(versions, "v1beta1"))
        errors.push_back(invalid(path, versions, "must include at least one of v1, v1beta1"));
}

void check_side_effects(const Value& given, const Path& path, const Allowed& allowed,
                        FieldErrors& errors) {
    const Texts choices = allowed.side_effects ? Texts{"None", "NoneOnDryRun", "Some", "Unknown"}
                                               : Texts{"None", "NoneOnDryRun"};
    if (given.is_null()) {
        errors.push_back(required(path, "must specify one of " + join(choices, ", ")));
    } else if (!is_one_of(given, choices)) {
        errors.push_back(not_supported(path, given, choices));
    }
}

void check_hook(const Value& hook, const Path& path, const Allowed& allowed, FieldErrors& errors) {
    check_name(hook["name"], path.child("name"), errors);
    const Path rules = path.child("rules");
    for (std::size_t i = 0; i < hook["rules"].size(); ++i)
        check_rule(hook["rules"][i], rules.item(i), errors);
    check_choice(hook, "failurePolicy", {"Fail", "Ignore"}, path, errors);
    check_choice(hook, "matchPolicy", {"Equivalent", "Exact"}, path, errors);
    check_side_effects(hook["sideEffects"], path.child("sideEffects"), allowed, errors);
    const std::int64_t timeout = hook["timeoutSeconds"].integer_or(10);
    if (timeout < 1 || timeout > timeout_max) {
        errors.push_back(invalid(path.child("timeoutSeconds"), hook["timeoutSeconds"],
                                 "the timeout value must be between 1 and 30 seconds"));
    }
    for (const char* selector : {"namespaceSelector", "objectSelector"}) {
        if (!allowed.wrong_selectors)
            check_label_selector(hook[selector], path.child(selector), errors);
    }
    check_choice(hook, "reinvocationPolicy", {"IfNeeded", "Never"}, path, errors);
    check_webhook_client(hook["clientConfig"], path.child("clientConfig"), errors);
    if (!allowed.old_conditions)
        check_conditions(hook["matchConditions"], path.child("matchConditions"), errors);
    check_review_versions(hook["admissionReviewVersions"], path.child("admissionReviewVersions"),
                          allowed, errors);
}

bool has_wrong_selector(const Value& hook) {
    FieldErrors errors;
    for (const char* selector : {"namespaceSelector", "objectSelector"})
        check_label_selector(hook[selector], Path(), errors);
    return !errors.empty();
}

/// An update may keep what an older server let in.
Allowed allowed_after(const Value& now, const Value& old) {
    Allowed allowed;
    std::set<std::string> names;
    const Value& hooks = old["webhooks"];
    allowed.old_conditions = hooks.size() == now["webhooks"].size();
    for (std::size_t i = 0; i < hooks.size(); ++i) {
        const Value& hook = hooks[i];
        const Value& versions = hook["admissionReviewVersions"];
        if (!is_one_of(hook["sideEffects"], {"None", "NoneOnDryRun"})) allowed.side_effects = true;
        if (!versions.empty() && !has(versions, "v1") && !has(versions, "v1beta1"))
            allowed.unknown_review_versions = true;
        if (!names.insert(hook["name"].text()).second) allowed.equal_names = true;
        if (has_wrong_selector(hook)) allowed.wrong_selectors = true;
        if (!(hook["matchConditions"] == now["webhooks"][i]["matchConditions"]))
            allowed.old_conditions = false;
    }
    return allowed;
}

}  // namespace

void default_webhooks(Value& configuration) {
    const bool mutating = configuration["kind"].text_or("") == "MutatingWebhookConfiguration";
    if (configuration["webhooks"].empty()) configuration.erase("webhooks");
    if (!configuration["webhooks"].is_array()) return;
    for (Value& hook : configuration.at("webhooks").mutable_items()) {
        if (!hook.is_object()) continue;
        fill(hook, "failurePolicy", "Fail");
        fill(hook, "matchPolicy", "Equivalent");
        fill(hook, "namespaceSelector", Value::object());
        fill(hook, "objectSelector", Value::object());
        fill(hook, "timeoutSeconds", 10);
        if (mutating) fill(hook, "reinvocationPolicy", "Never");
        Value* client = object_in(hook, "clientConfig");
        Value* service = client == nullptr ? nullptr : object_in(*client, "service");
        if (service != nullptr) fill(*service, "port", 443);
        if (!hook["rules"].is_array()) continue;
        for (Value& rule : hook.at("rules").mutable_items()) {
            if (rule.is_object()) fill(rule, "scope", "*");
        }
    }
}

FieldErrors validate_webhooks(const Value& configuration, const Value* old) {
    FieldErrors errors;
    const Allowed allowed = old == nullptr ? Allowed{} : allowed_after(configuration, *old);
    const Path list = Path().child("webhooks");
    const Value& hooks = configuration["webhooks"];
    std::set<std::string> names;
    for (std::size_t i = 0; i < hooks.size(); ++i) {
        const Path item = list.item(i);
        check_hook(hooks[i], item, allowed, errors);
        const std::string name = hooks[i]["name"].text();
        if (!allowed.equal_names && !name.empty() && !names.insert(name).second)
            errors.push_back(duplicate(item.child("name"), hooks[i]["name"]));
    }
    return errors;
}

}  // namespace muster::api
