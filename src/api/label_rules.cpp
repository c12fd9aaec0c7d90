// api/label_rules.cpp - checks of labels, selectors, taints and tolerations, wherever they stand.
#include "api/label_rules.h"

#include <set>
#include <string>

#include "api/field_error.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

void check_key(const Value& key, const Path& path, Errors& errors) {
    add_invalid(errors, path, key, label_key_faults(key.text_or("")));
}

void check_requirement(const Value& requirement, const Path& path, Errors& errors) {
    const std::string_view operation = requirement["operator"].text_or("");
    const bool has_values = !requirement["values"].empty();
    if ((operation == "In" || operation == "NotIn") && !has_values) {
        errors.push_back(
            required(path.child("values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if ((operation == "Exists" || operation == "DoesNotExist") && has_values) {
        errors.push_back(
            forbidden(path.child("values"),
                      "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
    } else if (operation != "In" && operation != "NotIn" && operation != "Exists" &&
               operation != "DoesNotExist") {
        errors.push_back(invalid(path.child("operator"), requirement["operator"],
                                 "not a valid selector operator"));
    }
    check_key(requirement["key"], path.child("key"), errors);
    const Path values = path.child("values");
    for (std::size_t i = 0; i < requirement["values"].size(); ++i) {
        const Value& value = requirement["values"][i];
        add_invalid(errors, values.item(i), value, label_value_faults(value.text_or("")));
    }
}

const std::vector<std::string>& effects() {
    static const std::vector<std::string> all = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
    return all;
}

void check_effect(const Value& effect, const Path& path, Errors& errors) {
    for (const std::string& known : effects()) {
        if (effect.text_or("") == known) return;
    }
    errors.push_back(not_supported(path, effect, effects()));
}

}  // namespace

void check_labels(const Value& labels, const Path& path, Errors& errors) {
    for (const Value::Member& label : labels.members()) {
        check_key(Value(label.key), path, errors);
        add_invalid(errors, path, label.value, label_value_faults(label.value.text_or("")));
    }
}

void check_annotations(const Value& annotations, const Path& path, Errors& errors) {
    constexpr std::size_t bytes_max = 256 * 1024;
    std::size_t bytes = 0;
    for (const Value::Member& annotation : annotations.members()) {
        check_key(Value(annotation.key), path, errors);
        bytes += annotation.key.size() + annotation.value.text_or("").size();
    }
    if (bytes > bytes_max) errors.push_back(too_long(path, bytes_max));
}

void check_label_selector(const Value& selector, const Path& path, Errors& errors) {
    check_labels(selector["matchLabels"], path.child("matchLabels"), errors);
    const Value& expressions = selector["matchExpressions"];
    const Path list = path.child("matchExpressions");
    for (std::size_t i = 0; i < expressions.size(); ++i) {
        check_requirement(expressions[i], list.item(i), errors);
    }
}

bool selector_matches(const Value& selector, const Value& labels) {
    for (const Value::Member& wanted : selector["matchLabels"].members()) {
        const Value* label = labels.find(wanted.key);
        if (label == nullptr || !(*label == wanted.value)) return false;
    }
    for (const Value& requirement : selector["matchExpressions"].items()) {
        const Value* label = labels.find(requirement["key"].text_or(""));
        const std::string_view operation = requirement["operator"].text_or("");
        bool listed = false;
        for (const Value& value : requirement["values"].items()) {
            listed = listed || (label != nullptr && *label == value);
        }
        if (operation == "In" && !listed) return false;
        if (operation == "NotIn" && listed) return false;
        if (operation == "Exists" && label == nullptr) return false;
        if (operation == "DoesNotExist" && label != nullptr) return false;
    }
    return true;
}

void check_taints(const Value& taints, const Path& path, Errors& errors) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < taints.size(); ++i) {
        const Path item = path.item(i);
        check_key(taints[i]["key"], item.child("key"), errors);
        add_invalid(errors, item.child("value"), taints[i]["value"],
                    label_value_faults(taints[i]["value"].text_or("")));
        check_effect(taints[i]["effect"], item.child("effect"), errors);
        if (!seen.insert(taints[i]["key"].text() + ":" + taints[i]["effect"].text()).second) {
            errors.push_back(duplicate(item, taints[i]));
            errors.back().text += ": taints must be unique by key and effect pair";
        }
    }
}

void check_tolerations(const Value& tolerations, const Path& path, Errors& errors) {
    static const std::vector<std::string> operators = {"Equal", "Exists"};
    for (std::size_t i = 0; i < tolerations.size(); ++i) {
        const Path item = path.item(i);
        const Value& each = tolerations[i];
        const std::string_view operation = each["operator"].text_or("");
        const bool has_key = !each["key"].text_or("").empty();
        if (has_key) check_key(each["key"], item.child("key"), errors);
        if (!has_key && operation != "Exists") {
            errors.push_back(invalid(item.child("operator"), each["operator"],
                                     "operator must be Exists when `key` is empty, which means "
                                     "\"match all values and all keys\""));
        }
        if (operation == "Exists" && !each["value"].text_or("").empty()) {
            errors.push_back(invalid(item.child("operator"), each["value"],
                                     "value must be empty when `operator` is 'Exists'"));
        }
        if (!operation.empty() && operation != "Equal" && operation != "Exists") {
            errors.push_back(not_supported(item.child("operator"), each["operator"], operators));
        }
        const std::string_view effect = each["effect"].text_or("");
        if (!effect.empty()) check_effect(each["effect"], item.child("effect"), errors);
        if (!each["tolerationSeconds"].is_null() && effect != "NoExecute") {
            errors.push_back(invalid(item.child("effect"), each["effect"],
                                     "effect must be 'NoExecute' when `tolerationSeconds` is set"));
        }
    }
}

}  // namespace muster::api
