// api/builtin/apps.cpp - defaults and checks of Deployment, ReplicaSet and StatefulSet, as
// Kubernetes has them.
#include <string>
#include <string_view>

#include "api/builtin/fill.h"
#include "api/builtin/validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"

namespace muster::api {
namespace {

/// Replicas, and the template as any pod has it: equal templates must be equal after defaulting.
Value* default_pods_of(Value& object) {
    Value* spec = &fill(object, "spec", Value::object());
    if (!spec->is_object()) return nullptr;
    fill(*spec, "replicas", 1);
    Value* pod_template = object_in(*spec, "template");
    Value* pod_spec = pod_template == nullptr ? nullptr : object_in(*pod_template, "spec");
    if (pod_spec != nullptr) default_pod_spec(*pod_spec);
    return spec;
}

void check_restarts(const Value& spec, const Path& path, FieldErrors& errors) {
    static const std::vector<std::string> allowed = {"Always"};
    const Path pod_template = path.child("template");
    const Path pod_spec = pod_template.child("spec");
    const Value& policy = spec["template"]["spec"]["restartPolicy"];
    if (policy.text_or("Always") != "Always")
        errors.push_back(not_supported(pod_spec.child("restartPolicy"), policy, allowed));
    const Value& deadline = spec["template"]["spec"]["activeDeadlineSeconds"];
    if (!deadline.is_null()) {
        errors.push_back(forbidden(pod_spec.child("activeDeadlineSeconds"),
                                   "activeDeadlineSeconds in ReplicaSet is not Supported"));
    }
}

/// Selector, template, counts: what the three kinds have in common.
void check_pods_of(const Value& spec, const Path& path, FieldErrors& errors) {
    for (const char* count :
         {"replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"}) {
        if (spec[count].integer_or(0) < 0) {
            errors.push_back(
                invalid(path.child(count), spec[count], "must be greater than or equal to 0"));
        }
    }
    const Value& selector = spec["selector"];
    if (selector.is_null()) {
        errors.push_back(required(path.child("selector")));
    } else {
        check_label_selector(selector, path.child("selector"), errors);
        if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
            errors.push_back(invalid(path.child("selector"), selector,
                                     "empty selector is invalid for deployment"));
        }
        const Value& labels = spec["template"]["metadata"]["labels"];
        if (!selector_matches(selector, labels)) {
            const Path pod_template = path.child("template");
            const Path metadata = pod_template.child("metadata");
            errors.push_back(invalid(metadata.child("labels"), labels,
                                     "`selector` does not match template `labels`"));
        }
    }
    check_pod_template(spec["template"], path.child("template"), errors);
    check_restarts(spec, path, errors);
}

void check_immutable_selector(const Value& object, const Value* old, FieldErrors& errors) {
    if (old == nullptr || object["spec"]["selector"] == (*old)["spec"]["selector"]) return;
    const Path root;
    const Path path = root.child("spec");
    errors.push_back(
        invalid(path.child("selector"), object["spec"]["selector"], "field is immutable"));
}

/// A number from 0 on, or a percentage up to 100%.
void check_part(const Value& part, const Path& path, FieldErrors& errors) {
    if (part.is_null()) return;
    if (part.is_integer()) {
        if (part.as_integer() < 0)
            errors.push_back(invalid(path, part, "must be greater than or equal to 0"));
        return;
    }
    const std::string_view text = part.text_or("");
    const bool digits = text.size() >= 2 && text.size() <= 10 && text.back() == '%' &&
                        text.find_first_not_of("0123456789") == text.size() - 1;
    if (!digits) {
        errors.push_back(invalid(path, part,
                                 "a valid percent string must be a numeric string followed by an "
                                 "ending '%' (e.g. '1%' or '93%')"));
    }
}

bool is_nothing(const Value& part) {
    return part.is_integer() ? part.as_integer() == 0
                             : part.text_or("").find_first_not_of("0%") == std::string_view::npos;
}

void check_strategy(const Value& spec, const Path& path, FieldErrors& errors) {
    const Value& strategy = spec["strategy"];
    const Value& rolling = strategy["rollingUpdate"];
    const Path at = path.child("strategy");
    if (strategy["type"].text_or("") == "Recreate") {
        if (!rolling.is_null()) {
            errors.push_back(forbidden(at.child("rollingUpdate"),
                                       "may not be specified when strategy `type` is 'Recreate'"));
        }
        return;
    }
    if (strategy["type"].text_or("") != "RollingUpdate") return;  // The schema says so.
    const Path inside = at.child("rollingUpdate");
    check_part(rolling["maxSurge"], inside.child("maxSurge"), errors);
    check_part(rolling["maxUnavailable"], inside.child("maxUnavailable"), errors);
    if (is_nothing(rolling["maxSurge"]) && is_nothing(rolling["maxUnavailable"])) {
        errors.push_back(invalid(inside.child("maxUnavailable"), rolling["maxUnavailable"],
                                 "may not be 0 when `maxSurge` is 0"));
    }
    const std::int64_t deadline = spec["progressDeadlineSeconds"].integer_or(0);
    if (!spec["progressDeadlineSeconds"].is_null() &&
        deadline <= spec["minReadySeconds"].integer_or(0)) {
        errors.push_back(invalid(path.child("progressDeadlineSeconds"),
                                 spec["progressDeadlineSeconds"],
                                 "must be greater than minReadySeconds"));
    }
}

}  // namespace

void default_replica_set(Value& set) {
    fill_condition_times(set, {"lastTransitionTime"});
    default_pods_of(set);
}

void default_deployment(Value& deployment) {
    fill_condition_times(deployment, {"lastUpdateTime", "lastTransitionTime"});
    Value* spec = default_pods_of(deployment);
    if (spec == nullptr) return;
    fill(*spec, "strategy", Value::object());
    if (Value* strategy = object_in(*spec, "strategy")) {
        fill_empty_text(*strategy, "type", "RollingUpdate");
        if ((*strategy)["type"].text_or("") == "RollingUpdate") {
            fill(*strategy, "rollingUpdate", Value::object());
            if (Value* rolling = object_in(*strategy, "rollingUpdate")) {
                fill(*rolling, "maxUnavailable", "25%");
                fill(*rolling, "maxSurge", "25%");
            }
        }
    }
    fill(*spec, "revisionHistoryLimit", 10);
    fill(*spec, "progressDeadlineSeconds", 600);
}

void default_stateful_set(Value& set) {
    fill_condition_times(set, {"lastTransitionTime"});
    Value* spec = default_pods_of(set);
    if (spec == nullptr) return;
    fill_empty_text(*spec, "podManagementPolicy", "OrderedReady");
    fill(*spec, "updateStrategy", Value::object());
    if (Value* strategy = object_in(*spec, "updateStrategy")) {
        fill_empty_text(*strategy, "type", "RollingUpdate");
        if ((*strategy)["type"].text_or("") == "RollingUpdate") {
            fill(*strategy, "rollingUpdate", Value::object());
            if (Value* rolling = object_in(*strategy, "rollingUpdate"))
                fill(*rolling, "partition", 0);
        }
    }
    fill(*spec, "revisionHistoryLimit", 10);
    fill(*spec, "persistentVolumeClaimRetentionPolicy",
         Value::object({{"whenDeleted", "Retain"}, {"whenScaled", "Retain"}}));
}

FieldErrors validate_replica_set(const Value& set, const Value* old) {
    FieldErrors errors;
    const Path root;
    check_pods_of(set["spec"], root.child("spec"), errors);
    check_immutable_selector(set, old, errors);
    return errors;
}

FieldErrors validate_deployment(const Value& deployment, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Path path = root.child("spec");
    check_pods_of(deployment["spec"], path, errors);
    check_strategy(deployment["spec"], path, errors);
    check_immutable_selector(deployment, old, errors);
    return errors;
}

FieldErrors validate_stateful_set(const Value& set, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Path path = root.child("spec");
    check_pods_of(set["spec"], path, errors);
    const Value& rolling = set["spec"]["updateStrategy"]["rollingUpdate"];
    const Path strategy = path.child("updateStrategy");
    const Path inside = strategy.child("rollingUpdate");
    if (rolling["partition"].integer_or(0) < 0) {
        errors.push_back(invalid(inside.child("partition"), rolling["partition"],
                                 "must be greater than or equal to 0"));
    }
    check_part(rolling["maxUnavailable"], inside.child("maxUnavailable"), errors);
    if (old == nullptr) return errors;
    static constexpr std::string_view changeable[] = {"replicas",
                                                      "ordinals",
                                                      "template",
                                                      "updateStrategy",
                                                      "revisionHistoryLimit",
                                                      "persistentVolumeClaimRetentionPolicy",
                                                      "minReadySeconds"};
    Value now = set["spec"];
    Value before = (*old)["spec"];
    for (const std::string_view field : changeable) {
        if (now.is_object()) now.erase(field);
        if (before.is_object()) before.erase(field);
    }
    if (!(now == before)) {
        errors.push_back(forbidden(
            path,
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
            "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
            "'minReadySeconds' are forbidden"));
    }
    return errors;
}

}  // namespace muster::api
