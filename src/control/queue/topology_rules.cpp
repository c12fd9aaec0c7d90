// control/queue/topology_rules.cpp - Kueue's rules for the topology annotations.
#include "control/queue/topology_rules.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "api/json.h"
#include "base/dns_name.h"
#include "base/text.h"
#include "control/queue/job_rules.h"
#include "control/queue/names.h"
#include "control/queue/topology.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// One template's annotations and where they stand.
struct Asked {
    const Value& annotations;
    std::string path;  // "spec.template.metadata.annotations"
    std::vector<api::FieldError>& errors;

    bool has(std::string_view name) const { return annotations[name].is_string(); }
    std::string at(std::string_view name) const { return path + "[" + std::string(name) + "]"; }
    std::string_view text(std::string_view name) const { return annotations[name].text_or(""); }
    void forbid_beside(std::string_view name, std::string_view other) {
        errors.push_back(forbidden_at(
            at(name), "may not be set when '" + std::string(other) + "' is specified"));
    }
    void invalid(std::string_view name, std::string_view detail) {
        errors.push_back(invalid_at(at(name), Value(text(name)), detail));
    }
};

/// Without a value, as Kubernetes words what is wrong with a whole.
api::FieldError wrong_whole(std::string path, const std::string& detail) {
    return {"FieldValueInvalid", std::move(path), "Invalid value: " + detail};
}

std::string in_quotes(std::string_view text) {
    return "'" + std::string(text) + "'";
}

void check_one_mode(Asked& asked) {
    int modes = 0;
    std::string all;
    for (const std::string_view name :
         {required_annotation, preferred_annotation, unconstrained_annotation}) {
        modes += asked.has(name) ? 1 : 0;
        all += (all.empty() ? "" : ", ") + quoted(name);
    }
    if (modes > 1) {
        asked.errors.push_back(wrong_whole(
            asked.path, "must not contain more than one topology annotation: [" + all + "]"));
    }
}

void check_levels(Asked& asked) {
    for (const std::string_view name :
         {required_annotation, preferred_annotation, slice_annotation}) {
        if (!asked.has(name)) continue;
        for (const std::string& fault : label_key_faults(asked.text(name)))
            asked.invalid(name, fault);
    }
}

void check_group_name(Asked& asked) {
    if (!asked.has(group_annotation)) return;
    const std::string_view name = asked.text(group_annotation);
    if (parse_integer(name).value_or(-1) >= 0)
        asked.invalid(group_annotation, "must not be a number");
    for (const std::string_view other : {slice_size_annotation, slice_annotation}) {
        if (asked.has(other)) asked.forbid_beside(group_annotation, other);
    }
    if (asked.has(preferred_annotation) || asked.has(required_annotation)) return;
    asked.errors.push_back(forbidden_at(asked.at(group_annotation),
                                        "may not be set when neither " +
                                            in_quotes(preferred_annotation) + " nor " +
                                            in_quotes(required_annotation) + " is specified"));
}

void check_numbers(Asked& asked) {
    if (asked.has(unconstrained_annotation) && !parse_boolean(asked.text(unconstrained_annotation)))
        asked.invalid(unconstrained_annotation, "must be a boolean value");
    if (asked.has(slice_size_annotation)) {
        const auto size = parse_go_integer(asked.text(slice_size_annotation));
        if (!size) {
            asked.invalid(slice_size_annotation, "must be a numeric value");
        } else if (*size < 1) {
            asked.invalid(slice_size_annotation, "must be greater than or equal to 1");
        }
    }
}

void check_slices(Asked& asked) {
    const bool level = asked.has(slice_annotation);
    const bool size = asked.has(slice_size_annotation);
    if (level && !size) {
        asked.errors.push_back(
            required_at(asked.at(slice_size_annotation),
                        "must be set when " + in_quotes(slice_annotation) + " is specified"));
    }
    if (!level && size) {
        asked.errors.push_back(forbidden_at(
            asked.at(slice_size_annotation),
            "may not be set when " + in_quotes(slice_annotation) + " is not specified"));
    }
}

void check_layer_values(Asked& asked, const Value& layers) {
    const std::string path = asked.at(layers_annotation);
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string entry = path + "[" + std::to_string(i) + "]";
        const std::string level = layers[i]["topology"].text();
        for (const std::string& fault : label_key_faults(level))
            asked.errors.push_back(invalid_at(entry + ".topology", Value(level), fault));
        const std::int64_t size = layers[i]["size"].integer_or(0);
        if (size < 1) {
            asked.errors.push_back(
                invalid_at(entry + ".size", Value(size), "must be greater than or equal to 1"));
        }
    }
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const std::string level = layers[i]["topology"].text();
        const auto [first, is_new] = seen.emplace(level, i);
        if (is_new) continue;
        api::FieldError error = api::duplicate(
            api::Path(), Value(level + " (also at index " + std::to_string(first->second) + ")"));
        error.field = path + "[" + std::to_string(i) + "].topology";
        asked.errors.push_back(std::move(error));
    }
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
        const std::int64_t outer = layers[i]["size"].integer_or(0);
        const std::int64_t inner = layers[i + 1]["size"].integer_or(0);
        if (inner <= 0 || outer % inner == 0) continue;
        asked.errors.push_back(
            invalid_at(path + "[" + std::to_string(i + 1) + "].size", Value(inner),
                       "must evenly divide the parent layer size " + std::to_string(outer)));
    }
}

void check_layers(Asked& asked) {
    if (!asked.has(layers_annotation)) return;
    for (const std::string_view other : {slice_annotation, slice_size_annotation}) {
        if (asked.has(other)) asked.forbid_beside(layers_annotation, other);
    }
    if (asked.has(group_annotation)) asked.forbid_beside(group_annotation, layers_annotation);
    auto parsed = api::parse_json(asked.text(layers_annotation));
    const auto* whole = std::get_if<api::Parsed>(&parsed);
    if (whole == nullptr || !whole->value.is_array()) {
        asked.invalid(layers_annotation, "must be a valid JSON array");
        return;
    }
    if (whole->value.empty() || whole->value.size() > 3) {
        asked.invalid(layers_annotation,
                      "topology constraints must contain between 1 and 3 entries");
        return;
    }
    check_layer_values(asked, whole->value);
}

bool ask_for_the_same(const Value& a, const Value& b) {
    for (const Value* each : {&a, &b}) {
        if (!(*each)["required"].is_string() && !(*each)["preferred"].is_string()) return false;
    }
    return a["required"] == b["required"] && a["preferred"] == b["preferred"];
}

void check_pair(const GroupedPodSet& first, const GroupedPodSet& second, const std::string& name,
                std::vector<api::FieldError>& errors) {
    const auto annotations = [](const GroupedPodSet& set) { return set.path + ".annotations"; };
    const auto at_name = [&](const GroupedPodSet& set) {
        return annotations(set) + "[" + std::string(group_annotation) + "]";
    };
    if (first.count != 1 && second.count != 1) {
        const std::string detail =
            "can only define groups where at least one pod set has only 1 replica, got: " +
            std::to_string(first.count) + " replica(s) and " + std::to_string(second.count) +
            " replica(s) in the group";
        errors.push_back(invalid_at(at_name(first), Value(name), detail));
        errors.push_back(invalid_at(at_name(second), Value(name), detail));
    }
    if (ask_for_the_same(first.request, second.request)) return;
    const auto add = [&](const GroupedPodSet& set, const GroupedPodSet& other) {
        errors.push_back(wrong_whole(
            annotations(set), "must specify " + in_quotes(required_annotation) + " or " +
                                  in_quotes(preferred_annotation) + " topology consistent with '" +
                                  annotations(other) + "' in group " + in_quotes(name)));
    };
    add(first, second);
    add(second, first);
}

}  // namespace

void check_topology(const Value& metadata, const std::string& path,
                    std::vector<api::FieldError>& errors) {
    const Value& annotations = metadata["annotations"];
    if (annotations.empty()) return;
    Asked asked{annotations, path + ".annotations", errors};
    check_one_mode(asked);
    check_levels(asked);
    check_group_name(asked);
    check_numbers(asked);
    check_slices(asked);
    check_layers(asked);
}

void check_slice_bound(const Value& metadata, const std::string& path, std::int64_t count,
                       std::vector<api::FieldError>& errors) {
    const Value& annotations = metadata["annotations"];
    const std::string detail = "must not be greater than pod set count " + std::to_string(count);
    const std::string_view size = annotations[slice_size_annotation].text_or("");
    const auto at = [&](std::string_view name) {
        return path + ".annotations[" + std::string(name) + "]";
    };
    if (parse_integer(size).value_or(0) > count)
        errors.push_back(invalid_at(at(slice_size_annotation), Value(size), detail));
    auto parsed = api::parse_json(annotations[layers_annotation].text_or(""));
    const auto* whole = std::get_if<api::Parsed>(&parsed);
    if (whole == nullptr || !whole->value.is_array() || whole->value.empty()) return;
    const std::int64_t outer = whole->value[0]["size"].integer_or(0);
    if (outer > count) errors.push_back(invalid_at(at(layers_annotation), Value(outer), detail));
}

void check_pod_set_groups(const std::vector<GroupedPodSet>& sets,
                          std::vector<api::FieldError>& errors) {
    std::vector<std::pair<std::string, std::vector<const GroupedPodSet*>>> groups;
    for (const GroupedPodSet& set : sets) {
        const std::string name = set.request["podSetGroupName"].text();
        if (name.empty()) continue;
        auto found = groups.begin();
        while (found != groups.end() && found->first != name)
            ++found;
        if (found == groups.end()) found = groups.insert(groups.end(), {name, {}});
        found->second.push_back(&set);
    }
    for (const auto& [name, members] : groups) {
        if (members.size() == 2) {
            check_pair(*members[0], *members[1], name, errors);
            continue;
        }
        for (const GroupedPodSet* set : members) {
            errors.push_back(invalid_at(
                set->path + ".annotations[" + std::string(group_annotation) + "]", Value(name),
                "can only define groups of exactly 2 pod sets, got: " +
                    std::to_string(members.size()) + " pod set(s)"));
        }
    }
}

}  // namespace muster::control::queue
